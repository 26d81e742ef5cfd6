"""Markdown, by markdown-it: blocks as its readers see them, without the escapes and marks of the source."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.html import first_heading, hidden_warnings, write_html
from analytiq.ingestion.parsing.html_tree import KNOWN_TAGS, html_tree
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument

DEEPEST_NESTING = 100
_LAST_BRACKET = -1
"""The key of the last bracket's position in a state's cache, whose other keys are positions."""
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(.{0,100000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*(.{1,500})$", re.MULTILINE)
_NOTE = re.compile(r"\[\^([^\]\s]{1,100})\]:[ \t]*")
_NOTE_REFERENCE = re.compile(r"\[\^([^\]\s]{1,100})\]")
_TAG_NAME = re.compile(r"</?([a-zA-Z][\w:-]*)")
_EMBEDDED = re.compile(r"\(data:[\w/+.-]{1,80};base64,[A-Za-z0-9+/=\s]*+\)")


class MarkdownParser:
    """The document in one page; the front matter's title is its title."""

    content_types = ("text/markdown",)
    extensions = (".md", ".markdown")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the file; pictures written into it give their descriptions alone."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        text = decoded.text.replace("\r\n", "\n")
        builder = TextBuilder()
        title = ""
        if (front := _FRONT_MATTER.match(text)) is not None:
            builder.paragraph(front[1])
            stated = _TITLE.search(front[1])
            title = stated[1].strip().strip("\"'") if stated else ""
            text = text[front.end() :]
        hidden = write_markdown(builder, text)
        page = builder.page(1)
        report_progress(1, 1)
        return ParsedDocument((page,), (*decoded.warnings, *hidden_warnings(hidden)), title or first_heading(page))


def write_markdown(builder: TextBuilder, text: str) -> int:
    """Write the blocks of Markdown; return the number of hidden words that were left out."""
    html = _MARKDOWN.render(_EMBEDDED.sub("()", _with_open_comment_escaped(text)))
    return write_html(builder, html_tree(html))


def _with_open_comment_escaped(text: str) -> str:
    """Escape the start of a comment that never ends, which is text."""
    start = text.rfind("-->") + 1
    return text[:start] + text[start:].replace("<!--", "&lt;!--")


def _read_note(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the library's signature
    """Read a footnote, which would pass for the address of a link."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    found = _NOTE.match(first)
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    line = start + 1
    while line < end and not state.isEmpty(line) and not _NOTE.match(state.src, state.bMarks[line]):
        line += 1
    rest = state.getLines(start + 1, line, state.blkIndent + 4, keepLastLF=False)
    state.push("html_block", "", 0).content = f'<p role="doc-footnote">[{escapeHtml(found[1])}] '
    words = state.push("inline", "", 0)
    words.content = f"{first[found.end() :]}\n{rest}".strip()
    words.map = [start, line]
    words.children = []
    state.push("html_block", "", 0).content = "</p>"
    state.line = line
    return True


class _Renderer(RendererHTML):
    """Renders HTML; a tag that HTML does not know, such as `<name>`, is words."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _NOTE_REFERENCE.sub(r"[\1]", escapeHtml(tokens[idx].content))

    def html_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        content = tokens[idx].content
        tag = _TAG_NAME.match(content)
        return escapeHtml(content) if tag and tag[1].lower() not in KNOWN_TAGS else content

    html_block = html_inline


def _where_label_ends(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a rule for links that fails at once behind the last `]`: looking for it costs 80 µs a bracket."""

    def applied(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the library's signature
        last = state.cache.get(_LAST_BRACKET)
        if last is None:
            last = state.cache[_LAST_BRACKET] = state.src.rfind("]")
        return state.pos < last and rule(state, silent)

    return applied


def _made() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": DEEPEST_NESTING}, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"])
    markdown.block.ruler.before("reference", "note", _read_note, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.at("link", _where_label_ends(link))
    markdown.inline.ruler.at("image", _where_label_ends(image))
    return markdown


_MARKDOWN = _made()
