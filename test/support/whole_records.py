"""Records that tell by themselves whether they are whole; a process that writes them
imports little else.
"""

import struct
import zlib

REGIONS = {"latest": 1 << 13}


def record(number):
    """Number, then as many bytes as follow from it, then a sum over all: another
    one than the module's.
    """
    length = number * 7919 % 1500
    body = struct.pack("=Q", number) + bytes([number % 251]) * length
    return body + struct.pack("=I", zlib.adler32(body))
