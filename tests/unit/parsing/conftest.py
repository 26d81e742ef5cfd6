"""Documents made on the spot, and parsers that misbehave, installed as another package would be."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from analytiq.ingestion.parsing.registry import default_registry
from tests.unit.parsing.word_documents import WriteDocx, write_word_document

MISBEHAVING_PARSERS = dedent(
    '''
    import os
    import resource
    import signal
    import time

    from analytiq.models.text import ParsedDocument, ParsedPage


    def page(text):
        return ParsedDocument((ParsedPage(1, text),))


    class Panic(BaseException):
        pass


    class Named:
        extensions = (".misbehaving",)


    class Endless(Named):
        """Tells its process id as its progress, and waits for ever."""

        content_types = ("application/x-endless",)

        def parse(self, path, options, report_progress):
            report_progress(os.getpid(), 2**31)
            while True:
                time.sleep(60)


    class Breeding(Named):
        """Starts a process that leaves the process group and starts another, names both, and waits for ever."""

        content_types = ("application/x-breeding",)

        def parse(self, path, options, report_progress):
            reading, writing = os.pipe()
            first = os.fork()
            if first == 0:
                os.setsid()
                second = os.fork()
                if second:
                    os.write(writing, str(second).encode())
                while True:
                    time.sleep(60)
            report_progress(first, 2**31)
            time.sleep(0.2)  # reports come ten times a second at most
            report_progress(int(os.read(reading, 20)), 2**31)
            while True:
                time.sleep(60)


    class Busy(Named):
        content_types = ("application/x-busy",)

        def parse(self, path, options, report_progress):
            while True:
                pass


    class Hungry(Named):
        content_types = ("application/x-hungry",)

        def parse(self, path, options, report_progress):
            return page(str(len(bytearray(1024 * 1024 * 1024))))


    class Crashing(Named):
        """Dies by the signal that the document names."""

        content_types = ("application/x-crashing",)

        def parse(self, path, options, report_progress):
            os.kill(os.getpid(), signal.Signals[path.read_text()])


    class Panicking(Named):
        content_types = ("application/x-panicking",)

        def parse(self, path, options, report_progress):
            raise Panic("called unwrap on a None value")


    class Vanishing(Named):
        """Ends as if all were well, without an outcome."""

        content_types = ("application/x-vanishing",)

        def parse(self, path, options, report_progress):
            os._exit(0)


    class Talkative(Named):
        content_types = ("application/x-talkative",)

        def parse(self, path, options, report_progress):
            return page("word " * 1_000_000)


    class Dirty(Named):
        content_types = ("application/x-dirty",)

        def parse(self, path, options, report_progress):
            return page("nul\\x00 surrogate\\ud800 bell\\x07 line\\r\\nend")


    class Pageless(Named):
        content_types = ("application/x-pageless",)

        def parse(self, path, options, report_progress):
            return ParsedDocument(())


    class Progressing(Named):
        content_types = ("application/x-progressing",)

        def parse(self, path, options, report_progress):
            for done in range(1, 1001):
                report_progress(done, 1000)
            return page("done")


    class Confessing(Named):
        """Tells its environment and its limits."""

        content_types = ("application/x-confessing",)

        def parse(self, path, options, report_progress):
            core = resource.getrlimit(resource.RLIMIT_CORE)
            return page(f"{sorted(os.environ)} core={core} ocr={options.ocr_languages}")
    '''
)


@pytest.fixture(scope="module")
def misbehaving_parsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The parsers above as an installed package with entry points."""
    site = tmp_path_factory.mktemp("site")
    (site / "misbehaving_parsers.py").write_text(MISBEHAVING_PARSERS)
    information = site / "misbehaving_parsers-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving-parsers\nVersion: 1.0\n")
    names = [
        line.split("(")[0].removeprefix("class ")
        for line in MISBEHAVING_PARSERS.splitlines()
        if line.startswith("class ") and "(Named)" in line
    ]
    points = "".join(f"{name.lower()} = misbehaving_parsers:{name}\n" for name in names)
    (information / "entry_points.txt").write_text(f"[analytiq.parsers]\n{points}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        default_registry.cache_clear()
        yield
    default_registry.cache_clear()
    sys.modules.pop("misbehaving_parsers", None)


@pytest.fixture
def write_docx(tmp_path: Path) -> WriteDocx:
    """Writes a minimal Word document."""

    def write(body: str, parts: Mapping[str, str]) -> Path:
        return write_word_document(tmp_path / "made.docx", body, parts)

    return write


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    """Return True if a process runs; one that only waits to be reaped does not."""

    def check(pid: int) -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state != "Z"

    return check
