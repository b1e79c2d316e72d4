"""Run the node."""

from .node import main

main()
