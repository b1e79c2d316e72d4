"""The version of the package: in records, and on the command line."""

VERSION = "0.1.0"
