"""The isolation of parsers: required level, readable paths, missing kernel features."""

import importlib
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from analytiq.errors import InvalidInputError
from analytiq.ingestion.ocr.language_data import DEBIAN_DATA_ROOT

if TYPE_CHECKING:
    # Only for the types: it takes 5 MB, and the parsing server imports this module.
    from analytiq.settings import ExtractionSettings

IsolationMode = Literal["required", "best_effort", "off"]

_SITE_NAMES = frozenset({"site-packages", "dist-packages"})
_SYSTEM_PATHS = (
    # Shared objects that are loaded when they are needed.
    Path("/usr/lib"),
    Path("/usr/lib64"),
    Path("/usr/local/lib"),
    Path("/nix/store"),
    Path("/lib"),
    Path("/lib64"),
    Path("/etc/ld.so.cache"),
    Path("/usr/share/zoneinfo"),
    Path("/etc/localtime"),
    # qpdf wants it even to read an encrypted PDF.
    Path("/dev/urandom"),
    # pdfium reads them where a document embeds no font.
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path("/usr/share/X11/fonts"),
    # The parent too: its data directory is found by listing it.
    DEBIAN_DATA_ROOT,
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation of one parser."""

    mode: IsolationMode = "best_effort"
    """`required`: refuse documents if the kernel lacks a feature. `off`: parsers keep all rights."""
    readable: tuple[Path, ...] = ()
    """Paths that parsers of other packages need, besides code, fonts and OCR data."""


BEST_EFFORT = Isolation()


def isolation_of(settings: "ExtractionSettings") -> Isolation:
    """Return the isolation set by the operator."""
    return Isolation(settings.isolation, settings.readable_paths)


@dataclass(frozen=True, slots=True)
class Examination:
    """The faults of parser isolation on this machine, and the parsers that cannot be imported."""

    remaining: tuple[str, ...] = ()
    """Sentences on actions that parsers can still do; empty if they are isolated."""
    unavailable: tuple[str, ...] = ()
    """A sentence for each parser that cannot be imported."""

    @property
    def gap(self) -> str | None:
        """Return a sentence on missing isolation, None if it is complete."""
        return None if not self.remaining else describe_gap(self.remaining)


def describe_gap(remaining: Iterable[str]) -> str:
    """Describe the missing protection, with a remedy."""
    return (
        f"Parsers are not isolated: a document that takes over its parser could {', '.join(remaining)}. Needed are"
        " Landlock (Linux 5.13 or newer, with `landlock` in /sys/kernel/security/lsm) and seccomp filters; a container"
        " must not run with `seccomp=unconfined` or an old profile. Use such a kernel, or set"
        " ANALYTIQ_EXTRACTION__ISOLATION=best_effort if you trust every document."
    )


def code_paths() -> tuple[Path, ...]:
    """Return the directories of installed code, never a whole checkout, which may contain keys and data."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    libraries = [prefix / name for prefix in sorted(prefixes) for name in ("lib", "lib64")]
    # Those of `pip install --user` lie below the home directory.
    sites = [Path(entry) for entry in sys.path if Path(entry).name in _SITE_NAMES]
    return (*libraries, *sites, *_package_of("analytiq"))


def readable_paths(*, parser: str, extra: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the paths that a parser may read besides its document.

    Args:
        parser: `module:Class`, already imported. A package on the import path need not be installed.
        extra: Set by the operator.
    """
    return (*code_paths(), *_SYSTEM_PATHS, *_package_of(parser.partition(":")[0].partition(".")[0]), *extra)


def refuse_readable_data(data_dir: Path, *, extra: Iterable[Path] = ()) -> None:
    """Refuse a data directory, or one for temporary files, that parsers could read.

    Raises:
        InvalidInputError: A rule of Landlock applies to everything below a directory, without exceptions.
    """
    readable = [path.resolve() for path in (*code_paths(), *_SYSTEM_PATHS, *extra)]
    for directory, setting in ((data_dir, "ANALYTIQ_DATA_DIR"), (Path(tempfile.gettempdir()), "TMPDIR")):
        for path in readable:
            if directory.expanduser().resolve().is_relative_to(path):
                raise InvalidInputError(
                    f"The directory {str(directory)!r} lies beneath {str(path)!r}, which document parsers may read. It"
                    f" holds keys or other documents: set {setting} to a directory elsewhere."
                )


def _package_of(name: str) -> tuple[Path, ...]:
    """Return the directories of an imported top-level package, which may import more from them later."""
    module = sys.modules.get(name) or importlib.import_module(name)
    return tuple(Path(directory) for directory in getattr(module, "__path__", ()))
