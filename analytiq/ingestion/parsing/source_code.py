"""Source code: the unchanged text as one block of its language."""

from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.registry import CODE_TYPE
from analytiq.ingestion.parsing.sanitize import sanitize_text
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage

LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".jsx": "javascript", ".ts": "typescript", ".tsx": "tsx", ".mts": "typescript", ".cts": "typescript",
    ".go": "go", ".java": "java", ".rs": "rust", ".cs": "csharp", ".c": "c", ".h": "c", ".cpp": "cpp", ".cc": "cpp",
    ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".sql": "sql", ".kt": "kotlin", ".swift": "swift", ".rb": "ruby",
    ".php": "php", ".scala": "scala", ".sh": "bash", ".bash": "bash", ".ps1": "powershell", ".lua": "lua", ".r": "r",
    ".pl": "perl", ".css": "css", ".scss": "scss", ".proto": "proto", ".tf": "terraform", ".dart": "dart",
}  # fmt: skip
"""Ending of a file's name → its language, as tree-sitter names it."""


class SourceCodeParser:
    """The code as one page; the language by the name's ending."""

    content_types = (CODE_TYPE,)
    extensions = tuple(LANGUAGES)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Decode the file."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        text = sanitize_text(decoded.text)
        report_progress(1, 1)
        start, end = len(text) - len(text.lstrip("\n")), len(text.rstrip())
        language = LANGUAGES.get(path.suffix.lower(), "")
        blocks = (Block(BlockKind.CODE, start, end, language=language),) if start < end else ()
        return ParsedDocument((ParsedPage(1, text, blocks=blocks),), decoded.warnings)
