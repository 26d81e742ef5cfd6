"""The stack trace of a failed attempt, without data that must not leave the machine.

An organization reads the stack traces of its own jobs. They name files by their path in a package, not on disk, and
quote no message of other libraries' errors: those contain hosts, paths and texts of documents. The
worker's log has everything.
"""

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import cast

import analytiq
from analytiq.errors import AnalytiqError

LONGEST_STACK = 8000
"""Characters kept from the end, which names the origin of the error."""
_ROOTS = [
    Path(analytiq.__file__).parents[1],
    *(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")),
]


def stack_of(error: BaseException) -> str:
    """Return the error after its causes, each with its stack."""
    return "\n".join(_lines(error, set()))[-LONGEST_STACK:]


def _lines(error: BaseException, told: set[int]) -> Iterator[str]:
    told.add(id(error))
    before = error.__cause__ if error.__cause__ is not None or error.__suppress_context__ else error.__context__
    if before is not None and id(before) not in told:
        yield from _lines(before, told)
        yield ""
        yield "which led to:" if error.__cause__ is not None else "while that was handled:"
        yield ""
    for frame in traceback.extract_tb(error.__traceback__):
        yield f'  File "{_place(frame.filename)}", line {frame.lineno}, in {frame.name}'
        if frame.line:
            yield f"    {frame.line}"
    yield f"{type(error).__name__}: {error.detail}" if isinstance(error, AnalytiqError) else type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        for part in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            if id(part) not in told:
                yield ""
                yield "together with:"
                yield from _lines(part, told)


def _place(filename: str) -> str:
    """Return a file's path in its package; packages may lie within the standard library's directory."""
    path = PurePath(filename)
    for root in _ROOTS:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name
