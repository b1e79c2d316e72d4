"""Serialised messages that something on their way has changed."""

from random import Random


def damaged(data: bytes, random: Random) -> bytes:
    """A message with bytes that are changed, cut off, appended, inserted or left out."""
    content = bytearray(data)
    begin = random.randrange(len(data))
    end = min(len(data), begin + random.randint(1, 8))
    kind = random.choice(("change", "count", "cut", "append", "insert", "leave out"))
    if kind == "change":
        for _ in range(random.randint(1, 4)):
            content[random.randrange(len(data))] = random.randrange(256)
    elif kind == "count":
        aligned = begin - begin % 4
        number = random.choice((0, 1, 5, 7, 2**16, 2**31 - 1, 2**31, 2**32 - 1))
        content[aligned : aligned + 4] = number.to_bytes(4, "little")
    elif kind == "cut":
        del content[begin:]
    elif kind == "append":
        content += random.randbytes(random.randint(1, 24))
    elif kind == "insert":
        content[begin:begin] = random.randbytes(random.randint(1, 8))
    else:
        del content[begin:end]
    return bytes(content)
