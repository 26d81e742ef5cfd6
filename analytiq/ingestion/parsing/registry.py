"""The registry of parsers by content type.

A format is one module with one class. The built-in ones are listed here as `module:Class` with the class's
attributes, so that a process can look a parser up without importing it; other packages add parsers by
the entry point group `analytiq.parsers`. Both are imported by reference, in the child that parses.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from analytiq.errors import ParserUnavailableError, UnsupportedFormatError
from analytiq.ingestion.parsing.advice import advice_for
from analytiq.ingestion.parsing.base import Parser, ParserEntry

ENTRY_POINT_GROUP = "analytiq.parsers"


CODE_TYPE = "text/x-source-code"
SOURCE_CODE_EXTENSIONS = (
    *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts", ".go", ".java", ".rs", ".cs"),
    *(".c", ".h", ".cpp", ".cc", ".cxx", ".hpp", ".hh", ".sql", ".kt", ".swift", ".rb", ".php", ".scala", ".sh"),
    *(".bash", ".ps1", ".lua", ".r", ".pl", ".css", ".scss", ".proto", ".tf", ".dart"),
)
PLAIN_TEXT_PARSER = "analytiq.ingestion.parsing.plain_text:PlainTextParser"
PASSAGE_TYPE = "text/vnd.analytiq.passage"
"""A plain text that is to be one chunk."""
PASSAGE_PARSER = "analytiq.ingestion.parsing.plain_text:PassageParser"

BUILT_IN_PARSERS = (
    ParserEntry("analytiq.ingestion.parsing.pdf:PdfParser", ("application/pdf",), (".pdf",)),
    ParserEntry(
        "analytiq.ingestion.parsing.docx:DocxParser",
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
        (".docx", ".docm", ".dotx"),
    ),
    ParserEntry(
        "analytiq.ingestion.parsing.xlsx:XlsxParser",
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",),
        (".xlsx", ".xlsm", ".xltx", ".xltm"),
    ),
    ParserEntry(
        "analytiq.ingestion.parsing.pptx:PptxParser",
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation",),
        (".pptx", ".pptm", ".ppsx", ".potx"),
    ),
    ParserEntry(
        "analytiq.ingestion.parsing.opendocument:OpenDocumentParser",
        (
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.spreadsheet",
            "application/vnd.oasis.opendocument.presentation",
            "application/vnd.oasis.opendocument.text-template",
            "application/vnd.oasis.opendocument.spreadsheet-template",
        ),
        (".odt", ".ott", ".ods", ".odp"),
    ),
    ParserEntry("analytiq.ingestion.parsing.doc:DocParser", ("application/msword",), (".doc", ".dot")),
    ParserEntry(
        "analytiq.ingestion.parsing.ppt:PptParser", ("application/vnd.ms-powerpoint",), (".ppt", ".pps", ".pot")
    ),
    ParserEntry("analytiq.ingestion.parsing.xls:XlsParser", ("application/vnd.ms-excel",), (".xls", ".xlt")),
    ParserEntry("analytiq.ingestion.parsing.epub:EpubParser", ("application/epub+zip",), (".epub",)),
    ParserEntry("analytiq.ingestion.parsing.rtf:RtfParser", ("application/rtf",), (".rtf",)),
    ParserEntry("analytiq.ingestion.parsing.notebook:NotebookParser", ("application/x-ipynb+json",), (".ipynb",)),
    ParserEntry(
        "analytiq.ingestion.parsing.email_message:EmailParser", ("message/rfc822",), (".eml", ".mht", ".mhtml")
    ),
    ParserEntry(
        "analytiq.ingestion.parsing.outlook_message:OutlookMessageParser",
        ("application/vnd.ms-outlook",),
        (".msg", ".oft"),
    ),
    ParserEntry("analytiq.ingestion.parsing.zip_archive:ZipArchiveParser", ("application/zip",), (".zip",)),
    ParserEntry(
        "analytiq.ingestion.parsing.tar_archive:TarArchiveParser",
        ("application/x-tar", "application/gzip", "application/x-bzip2", "application/x-xz"),
        (".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz"),
    ),
    ParserEntry("analytiq.ingestion.parsing.mailbox:MailboxParser", ("application/mbox",), (".mbox", ".mbx")),
    ParserEntry("analytiq.ingestion.parsing.html:HtmlParser", ("text/html",), (".html", ".htm", ".xhtml")),
    ParserEntry("analytiq.ingestion.parsing.markdown:MarkdownParser", ("text/markdown",), (".md", ".markdown")),
    ParserEntry(
        "analytiq.ingestion.parsing.csv:CsvParser", ("text/csv", "text/tab-separated-values"), (".csv", ".tsv")
    ),
    ParserEntry(
        "analytiq.ingestion.parsing.image:ImageParser",
        ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/bmp", "image/gif"),
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"),
    ),
    ParserEntry(
        PLAIN_TEXT_PARSER,
        ("text/plain",),
        (".txt", ".text", ".log"),
    ),
    ParserEntry(PASSAGE_PARSER, (PASSAGE_TYPE,), (".passage",)),
    ParserEntry(
        "analytiq.ingestion.parsing.structured_data:StructuredDataParser",
        ("application/json", "application/x-ndjson", "application/yaml", "application/xml"),
        (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".xml"),
    ),
    ParserEntry(
        "analytiq.ingestion.parsing.settings_files:PropertiesParser", ("text/x-java-properties",), (".properties",)
    ),
    ParserEntry("analytiq.ingestion.parsing.settings_files:TomlParser", ("application/toml",), (".toml",)),
    ParserEntry(
        "analytiq.ingestion.parsing.subtitles:SubtitleParser", ("application/x-subrip", "text/vtt"), (".srt", ".vtt")
    ),
    ParserEntry("analytiq.ingestion.parsing.source_code:SourceCodeParser", (CODE_TYPE,), SOURCE_CODE_EXTENSIONS),
)


class ParserRegistry:
    """The parsers of one process; of two for the same content type, the last one counts."""

    def __init__(self, entries: Iterable[ParserEntry], *, problems: Iterable[str] = ()) -> None:
        self.problems = tuple(problems)
        """A sentence for each installed parser that cannot be imported: its content types are unknown."""
        entries = tuple(entries)
        self.installed = tuple(entry for entry in entries if entry not in BUILT_IN_PARSERS)
        """The parsers of other packages."""
        self._by_content_type: dict[str, ParserEntry] = {}
        self._type_of_extension: dict[str, str] = {}
        for entry in entries:
            self._by_content_type |= dict.fromkeys(entry.content_types, entry)
            for extension in entry.extensions:
                self._type_of_extension[extension] = entry.content_types[0]

    def reads(self, content_type: str) -> bool:
        """Return True if a parser reads this content type."""
        return content_type in self._by_content_type or content_type.startswith("text/")

    @property
    def content_types(self) -> tuple[str, ...]:
        """All readable content types, sorted."""
        return tuple(sorted(self._by_content_type))

    @property
    def references(self) -> tuple[str, ...]:
        """The parsers in use as `module:Class`, sorted."""
        return tuple(sorted({entry.reference for entry in self._by_content_type.values()}))

    def content_type_of_extension(self, extension: str) -> str | None:
        """Return the preferred content type of a file name ending (with the dot, lower case)."""
        return self._type_of_extension.get(extension)

    def entry_for(self, content_type: str) -> ParserEntry:
        """Return the parser of a content type; any other `text/` type is read as plain text.

        Raises:
            UnsupportedFormatError: no parser reads it; the message suggests an alternative, or lists readable types.
        """
        entry = self._by_content_type.get(content_type)
        if entry is None and content_type.startswith("text/"):
            entry = self._by_content_type.get("text/plain")
        if entry is None:
            raise UnsupportedFormatError(
                advice_for(content_type)
                or f"Files of type {content_type!r} cannot be read. Convert the file to one of: "
                f"{', '.join(sorted(self._type_of_extension))}."
                + "".join(f" {problem}" for problem in self.problems)
            )
        return entry


def load_parser(reference: str) -> Parser:
    """Import a parser by `module:Class` and create one.

    Raises:
        ParserUnavailableError: The import failed, and will fail until the installation is repaired.
    """
    try:
        parser_class = EntryPoint("", reference, ENTRY_POINT_GROUP).load()
        return cast("Parser", parser_class())
    except MemoryError:
        raise
    except Exception as error:
        raise ParserUnavailableError(cannot_import(reference, error)) from error


def cannot_import(reference: str, error: BaseException) -> str:
    """Return a sentence on why a parser cannot be imported, with a remedy."""
    return (
        f"The parser {reference} cannot be imported ({type(error).__name__}: {error}). Repair the installation of the"
        " worker (`analytiq doctor` imports every parser), then extract the document again."
    )


@dataclass(frozen=True, slots=True)
class InstalledParsers:
    """The parsers of other installed packages."""

    entries: tuple[ParserEntry, ...]
    problems: tuple[str, ...]
    """A sentence for each parser that cannot be imported."""


def installed_parsers() -> InstalledParsers:
    """Import the parsers of other installed packages; one failed import does not affect the others."""
    entries: list[ParserEntry] = []
    problems: list[str] = []
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            parser_class = cast("type[Parser]", entry_point.load())
            content_types, extensions = tuple(parser_class.content_types), tuple(parser_class.extensions)
        except Exception as error:  # noqa: BLE001 -- a foreign package, which may raise anything
            problems.append(
                f"The parser {entry_point.name!r} ({entry_point.value}) cannot be imported ({type(error).__name__}:"
                f" {error}). Repair or uninstall its package."
            )
        else:
            entries.append(ParserEntry(entry_point.value, content_types, extensions))
    return InstalledParsers(tuple(entries), tuple(problems))


@cache
def default_registry() -> ParserRegistry:
    """Return the built-in and the installed parsers, the latter first; read once in a process."""
    installed = installed_parsers()
    return ParserRegistry((*BUILT_IN_PARSERS, *installed.entries), problems=installed.problems)
