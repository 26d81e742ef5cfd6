"""Units of made files: texts that repeat, count up or nest, for `growing_files`."""

from collections.abc import Callable

Make = Callable[[int], bytes]
"""Makes a file of about so many bytes; of a packed format, before packing."""

SENTENCE = "The pump of the north station was inspected on 12 March 2024 and draws 230 V at 1,234.50 rpm. "


def repeated(unit: str, *, before: str = "", after: str = "") -> Make:
    """Return a shape that repeats a text."""

    def make(size: int) -> bytes:
        count = max(1, (size - len(before) - len(after)) // len(unit.encode()))
        return f"{before}{unit * count}{after}".encode()

    return make


def counted(unit: str, *, before: str = "", after: str = "") -> Make:
    """Return a shape that repeats a text with `{n}` counted up."""

    def make(size: int) -> bytes:
        count = max(1, size // (len(unit) + 2))
        return (before + "".join(unit.replace("{n}", str(number)) for number in range(count)) + after).encode()

    return make


def nested(begin: str, inside: str, end: str, *, before: str = "", after: str = "") -> Make:
    """Return a shape of nested parts."""

    def make(size: int) -> bytes:
        depth = max(1, size // (len(begin) + len(end)))
        return (before + begin * depth + inside + end * depth + after).encode()

    return make
