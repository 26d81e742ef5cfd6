"""Word documents, read from their own XML; see the package `word`."""

from pathlib import Path

from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.word.document import DocumentReader
from analytiq.ingestion.parsing.word.package import WordPackage
from analytiq.models.text import ParsedDocument


class DocxParser:
    """Headings, numbered lists, tables, notes, charts and formulas; pages where the document records them."""

    content_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)
    extensions = (".docx", ".docm", ".dotx")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read headers, body, notes, comments and footers; tracked changes and comments as the options say."""
        with open_package(path, noun="Word document", also_damaged=(RecursionError,)) as archive:
            document = DocumentReader(WordPackage(archive), options).read()
        report_progress(len(document.pages), len(document.pages))
        return document
