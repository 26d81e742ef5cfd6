"""The text shown by a browser, in linear time: a measure for better readers, and their last resort.

lxml cuts a tree of 200,000 nested elements at a depth of 256; nothing here is recursive.
"""

import re
from html import unescape

_TAG = re.compile(r"<(?:!--|!\[CDATA\[|/?([a-zA-Z][a-zA-Z0-9:-]*)|[!?])")
_INVISIBLE = ("script", "style", "template", "noscript", "head", "svg", "iframe", "object")
_ENDS = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in _INVISIBLE}
_BLOCK = re.compile(
    r"address|article|aside|blockquote|br|d[dlt]|div|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main"
    r"|nav|ol|option|p|pre|section|t(?:able|body|d|foot|h|head|itle|r)|ul"
)
_BLANKS = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\s*\n\s*")


def visible_text(html: str) -> str:
    """Return the text outside of tags, comments and invisible elements, a line for each block."""
    parts: list[str] = []
    position = 0
    while (tag := _TAG.search(html, position)) is not None:
        parts.append(html[position : tag.start()])
        name = (tag[1] or "").lower()
        if _BLOCK.fullmatch(name):
            parts.append("\n")
        position = _after(html, tag, name)
    parts.append(html[position:])
    text = _BLANKS.sub(" ", unescape("".join(parts)))
    return _BLANK_LINES.sub("\n", text).strip()


def _after(html: str, tag: re.Match[str], name: str) -> int:
    """Return the offset after a tag, or after an invisible element."""
    if tag[0] == "<!--":
        return _past(html, "-->", tag.end())
    end = _past(html, ">", tag.end())
    if name in _ENDS and not tag[0].startswith("</") and html[end - 2 : end] != "/>":
        closing = _ENDS[name].search(html, end)
        return len(html) if closing is None else _past(html, ">", closing.end())
    return end


def _past(html: str, mark: str, start: int) -> int:
    found = html.find(mark, start)
    return len(html) if found < 0 else found + len(mark)
