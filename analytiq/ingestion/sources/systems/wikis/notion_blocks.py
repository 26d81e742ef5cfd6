"""Blocks of Notion as HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from analytiq.ingestion.sources.systems.wikis.html_text import code_block, escaped, link
from analytiq.ingestion.sources.systems.wikis.json_values import Object, inner, object_of, text_of
from analytiq.ingestion.sources.systems.wikis.notion_text import plain_text, rich_html

_LISTS = {"bulleted_list_item": "ul", "numbered_list_item": "ol", "to_do": "ul"}
_HEADINGS = {"heading_1": "h2", "heading_2": "h3", "heading_3": "h4", "heading_4": "h5"}
"""A page's title is the heading of the first level."""
_FILES = {"image": "Image", "video": "Video", "audio": "Audio", "file": "File", "pdf": "PDF"}
_SILENT = frozenset({"breadcrumb", "table_of_contents", "unsupported"})


@dataclass(frozen=True, slots=True)
class Block:
    """A block with the blocks in it."""

    data: Object
    children: tuple["Block", ...] = ()

    @property
    def kind(self) -> str:
        """Return the block's type."""
        return text_of(self.data.get("type"))

    @property
    def content(self) -> Object:
        """Return the part of the block that its type names."""
        return object_of(self.data.get(self.kind))


def blocks_html(blocks: Sequence[Block]) -> str:
    """Return blocks as HTML; list items that follow one another are one list."""
    parts: list[str] = []
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        shown = "".join(map(_block, group))
        tag = _LISTS.get(kind)
        parts.append(f"<{tag}>{shown}</{tag}>\n" if tag else shown)
    return "".join(parts)


def _block(block: Block) -> str:
    if block.kind in _HEADINGS:
        tag = _HEADINGS[block.kind]
        return f"<{tag}>{rich_html(block.content.get('rich_text'))}</{tag}>\n{blocks_html(block.children)}"
    if block.kind in _FILES:
        return f"<p>{_FILES[block.kind]}: {_file(block.content)}</p>\n{blocks_html(block.children)}"
    if block.kind in _LISTS:
        return _item(block)
    return _other(block)


def _item(block: Block) -> str:
    mark = ""
    if block.kind == "to_do":
        mark = "[x] " if block.content.get("checked") is True else "[ ] "
    return f"<li>{mark}{rich_html(block.content.get('rich_text'))}{blocks_html(block.children)}</li>"


def _other(block: Block) -> str:  # one line a type
    content, text = block.content, rich_html(block.content.get("rich_text"))
    match block.kind:
        case "quote":
            return f"<blockquote><p>{text}</p>{blocks_html(block.children)}</blockquote>\n"
        case "callout":
            icon = escaped(text_of(inner(content, "icon", "emoji")))
            words = f"{icon} {text}".strip()
            return f"<blockquote><p>{words}</p>{blocks_html(block.children)}</blockquote>\n"
        case "toggle" | "template":
            return f"<p>{text}</p>\n<div>{blocks_html(block.children)}</div>\n"
        case "code":
            code = code_block(plain_text(content.get("rich_text")), text_of(content.get("language")))
            return f"{code}\n{_caption(content)}"
        case "equation":
            return f"<p>$${escaped(text_of(content.get('expression')))}$$</p>\n"
        case "divider":
            return "<hr>\n"
        case "table":
            return _table(block)
        case "child_page" | "child_database":
            return f"<p>{_page_link(text_of(block.data.get('id')), text_of(content.get('title')))}</p>\n"
        case "link_to_page":
            target = text_of(content.get(text_of(content.get("type"))))
            return f"<p>{_page_link(target, 'Linked page')}</p>\n"
        case "bookmark" | "embed" | "link_preview":
            address = text_of(content.get("url"))
            return f"<p>{link(address, escaped(address))}</p>\n{_caption(content)}"
        case kind if kind in _SILENT:
            return ""
        case _:  # paragraphs, columns, synced blocks, and what Notion adds later
            return f"{f'<p>{text}</p>' if text else ''}\n{blocks_html(block.children)}"


def _page_link(page_id: str, title: str) -> str:
    return link(f"https://www.notion.so/{page_id.replace('-', '')}", escaped(title or "Untitled"))


def _caption(content: Object) -> str:
    words = rich_html(content.get("caption"))
    return f"<p>{words}</p>\n" if words else ""


def _file(content: Object) -> str:
    """Return the name of a file; a link to it if Notion does not host it: its own addresses end after an hour."""
    external = text_of(inner(content, "external", "url"))
    hosted = text_of(inner(content, "file", "url")).partition("?")[0]
    name = text_of(content.get("name")) or (external or hosted).rpartition("/")[2]
    caption = rich_html(content.get("caption"))
    shown = link(external, escaped(name))
    return f"{shown}. {caption}" if caption else shown


def _table(block: Block) -> str:
    rows: list[str] = []
    for index, row in enumerate(block.children):
        cells = row.content.get("cells")
        has_head = index == 0 and block.content.get("has_column_header") is True
        shown: list[str] = []
        for place, cell in enumerate(cells if isinstance(cells, list) else []):
            is_head = has_head or (place == 0 and block.content.get("has_row_header") is True)
            tag = "th" if is_head else "td"
            shown.append(f"<{tag}>{rich_html(cell)}</{tag}>")
        rows.append(f"<tr>{''.join(shown)}</tr>")
    return f"<table>{''.join(rows)}</table>\n"
