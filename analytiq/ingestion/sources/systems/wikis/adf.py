"""The Atlassian Document Format, JSON of rich texts, as HTML."""

from datetime import UTC, datetime

from pydantic import JsonValue

from analytiq.ingestion.sources.systems.wikis.html_text import code_block, escaped, link, with_breaks
from analytiq.ingestion.sources.systems.wikis.json_values import Object, inner, object_of, objects_of, text_of

DEEPEST = 60
"""Most nodes within one another; deeper ones are left out."""
HEADINGS_BELOW = 2
"""Levels of headings above those of a text: the title, and the part of the page."""
_TAGS = {
    "paragraph": "p",
    "bulletList": "ul",
    "orderedList": "ol",
    "listItem": "li",
    "taskList": "ul",
    "decisionList": "ul",
    "blockquote": "blockquote",
    "tableRow": "tr",
    "layoutSection": "div",
    "layoutColumn": "div",
    "caption": "p",
}
_PANELS = {"info": "Info", "note": "Note", "success": "Success", "warning": "Warning", "error": "Error", "tip": "Tip"}
_MARKS = {"strong": "strong", "em": "em", "code": "code", "strike": "s", "underline": "u"}


def adf_html(document: JsonValue) -> str:
    """Return a text as HTML; a plain text stays one."""
    if isinstance(document, str):
        return f"<p>{with_breaks(document)}</p>"
    return _inside(object_of(document), 0)


def _inside(node: Object, depth: int) -> str:
    if depth > DEEPEST:
        return ""
    return "".join([_node(each, depth + 1) for each in objects_of(node.get("content"))])


def _node(node: Object, depth: int) -> str:  # one line a type
    kind, attributes = text_of(node.get("type")), object_of(node.get("attrs"))
    match kind:
        case "text":
            return _text(node)
        case "hardBreak":
            return "<br>"
        case "rule":
            return "<hr>\n"
        case "heading":
            level = attributes.get("level")
            number = min(6, HEADINGS_BELOW + (level if isinstance(level, int) and 0 < level < 7 else 1))
            return f"<h{number}>{_inside(node, depth)}</h{number}>\n"
        case "codeBlock":
            words = "".join(text_of(each.get("text")) for each in objects_of(node.get("content")))
            return f"{code_block(words, text_of(attributes.get('language')))}\n"
        case "taskItem" | "blockTaskItem":
            mark = "[x]" if attributes.get("state") == "DONE" else "[ ]"
            return f"<li>{mark} {_inside(node, depth)}</li>"
        case "decisionItem":
            return f"<li>Decision: {_inside(node, depth)}</li>"
        case "panel":
            name = _PANELS.get(text_of(attributes.get("panelType")), "")
            title = f"<p><b>{name}</b></p>" if name else ""
            return f"<blockquote>{title}{_inside(node, depth)}</blockquote>\n"
        case "expand" | "nestedExpand":
            title = escaped(text_of(attributes.get("title")))
            return f"<p>{title}</p>\n<div>{_inside(node, depth)}</div>\n"
        case "table":
            return f"<table>{_inside(node, depth)}</table>\n"
        case "tableHeader" | "tableCell":
            tag = "th" if kind == "tableHeader" else "td"
            return f"<{tag}{_spans(attributes)}>{_inside(node, depth)}</{tag}>"
        case "media" | "mediaInline":
            return f"<p>Attachment: {escaped(text_of(attributes.get('alt')) or 'a file')}</p>"
        case "inlineCard" | "blockCard" | "embedCard":
            address = text_of(attributes.get("url")) or text_of(inner(attributes, "data", "url"))
            shown = link(address, escaped(address))
            return shown if kind == "inlineCard" else f"<p>{shown}</p>\n"
        case "mention" | "status" | "emoji":
            text = text_of(attributes.get("text")) or text_of(attributes.get("shortName"))
            return escaped(f"[{text}]" if kind == "status" else text)
        case "date":
            return _date(text_of(attributes.get("timestamp")))
        case "placeholder":
            return ""
        case _ if kind in _TAGS:
            return f"<{_TAGS[kind]}>{_inside(node, depth)}</{_TAGS[kind]}>\n"
        case _:  # groups of media, extensions, and what comes later
            return _inside(node, depth) or escaped(text_of(attributes.get("text")))


def _text(node: Object) -> str:
    text = with_breaks(text_of(node.get("text")))
    for mark in objects_of(node.get("marks")):
        kind = text_of(mark.get("type"))
        if kind == "link":
            text = link(text_of(inner(mark, "attrs", "href")), text)
        elif kind in _MARKS:
            text = f"<{_MARKS[kind]}>{text}</{_MARKS[kind]}>"
        elif kind == "subsup" and inner(mark, "attrs", "type") in ("sub", "sup"):
            tag = text_of(inner(mark, "attrs", "type"))
            text = f"<{tag}>{text}</{tag}>"
    return text


def _spans(attributes: Object) -> str:
    found = [(name, attributes.get(name)) for name in ("colspan", "rowspan")]
    return "".join(f' {name}="{value}"' for name, value in found if isinstance(value, int) and 1 < value < 1000)


def _date(milliseconds: str) -> str:
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
