"""Read a document of each kind with the installation that runs this script; end with 1 where a parser reads none."""

import asyncio
import sys
from pathlib import Path

from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.parsing.sandbox import parse_in_child
from analytiq.ingestion.parsing.servers import stop_server

SAMPLES = (
    "archive/letters.tar.gz",
    "archive/letters.zip",
    "archive/team.mbox",
    "code/berth-plan.ts",
    "csv/stanley-cups-with-emoji.csv",
    "doc/manual.doc",
    "docx/docx-tables.docx",
    "email/mime-html-only.eml",
    "email/test_outlook_msg.msg",
    "epub/test.epub",
    "html/test_blog.html",
    "image/layout-parser-paper-fast.jpg",
    "json/simple.yaml",
    "json/test_notebook.ipynb",
    "markdown/README.md",
    "odt/fake.odt",
    "pdf/fake-memo.pdf",
    "ppt/harbour.ppt",
    "pptx/powerpoint_sample.pptx",
    "rtf/fake-doc.rtf",
    "text/harbour-answer.passage",
    "text/harbour-board.srt",
    "text/harbour-pages.properties",
    "text/harbour-gates.toml",
    "text/norwich-city.txt",
    "xls/prices.xls",
    "xlsx/stanley-cups.xlsx",
)


async def read(path: Path) -> tuple[str, str | None]:
    """Return the parser's reference, and why the document cannot be read."""
    content_type = detect_content_type(path)
    reference = default_registry().entry_for(content_type).reference
    try:
        await parse_in_child(path, content_type=content_type, options=ParseOptions(), limits=ParseLimits())
    except AnalytiqError as error:
        return reference, f"{path.name}: {error.detail}"
    return reference, None


async def read_all(directory: Path) -> list[str]:
    """Return a sentence for each parser that reads no sample."""
    outcomes = [await read((directory / sample).resolve()) for sample in SAMPLES]
    unread = set(default_registry().references) - {reference for reference, _ in outcomes}
    problems = [problem for _, problem in outcomes if problem is not None]
    return problems + [f"{reference} has no sample in this script." for reference in sorted(unread)]


def main() -> int:
    """Read, report, return the exit code."""
    try:
        problems = asyncio.run(read_all(Path(sys.argv[1])))
    finally:
        stop_server()
    report = "\n".join(problems) or f"A document of each of {len(SAMPLES)} kinds was read."
    sys.stdout.write(f"{report}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
