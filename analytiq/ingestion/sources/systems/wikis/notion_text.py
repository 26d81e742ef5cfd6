"""Rich text and properties of Notion."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from analytiq.ingestion.sources.systems.wikis.html_text import escaped, link, with_breaks
from analytiq.ingestion.sources.systems.wikis.json_values import Object, inner, object_of, objects_of, text_of

LONGEST_VALUE = 2000
"""Most characters of a property in the fields of an item."""
MOST_FIELDS = 100
_STYLES = (("code", "code"), ("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("underline", "u"))
_PLAIN = frozenset({"number", "checkbox", "url", "email", "phone_number", "created_time", "last_edited_time"})


def plain_text(rich_text: JsonValue) -> str:
    """Return the words of a rich text."""
    return "".join(text_of(part.get("plain_text")) for part in objects_of(rich_text))


def rich_html(rich_text: JsonValue) -> str:
    """Return a rich text as HTML."""
    return "".join(map(_part, objects_of(rich_text)))


def title_of(page: Object) -> str:
    """Return a page's title."""
    for value in object_of(page.get("properties")).values():
        if inner(value, "type") == "title":
            return plain_text(inner(value, "title")).strip()
    return plain_text(page.get("title")).strip()


def property_values(page: Object) -> dict[str, JsonValue]:
    """Return the properties of a page by name, without its title and empty ones."""
    found: dict[str, JsonValue] = {}
    for name, value in list(object_of(page.get("properties")).items())[:MOST_FIELDS]:
        shown = None if inner(value, "type") == "title" else _value(object_of(value))
        if shown not in (None, "", []):
            found[name] = shown
    return found


def properties_html(values: Mapping[str, JsonValue]) -> str:
    """Return properties as a list."""
    rows = [f"<li><b>{escaped(name)}</b>: {with_breaks(_words(value))}</li>" for name, value in values.items()]
    return f"<ul>{''.join(rows)}</ul>\n" if rows else ""


def _part(part: Object) -> str:
    text = with_breaks(text_of(part.get("plain_text")))
    if part.get("type") == "equation":
        text = f"${text}$"
    annotations = object_of(part.get("annotations"))
    for name, tag in _STYLES:
        if annotations.get(name) is True and text.strip():
            text = f"<{tag}>{text}</{tag}>"
    return link(text_of(part.get("href")), text)


def _value(value: Object) -> JsonValue:  # one line a type
    kind = text_of(value.get("type"))
    held = value.get(kind)
    match kind:
        case "rich_text" | "title":
            return plain_text(held)[:LONGEST_VALUE]
        case "select" | "status":
            return text_of(inner(held, "name"))
        case "multi_select" | "people" | "files":
            return _names(objects_of(held))
        case "relation":
            return [text_of(each.get("id")) for each in objects_of(held)]
        case "date":
            return _date(object_of(held))
        case "created_by" | "last_edited_by":
            return _name(object_of(held))
        case "formula":
            return _value(object_of(held))
        case "string":
            return text_of(held)[:LONGEST_VALUE]
        case "rollup":
            return _rollup(object_of(held))
        case "unique_id":
            return "-".join(filter(None, (text_of(inner(held, "prefix")), text_of(inner(held, "number")))))
        case "verification":
            return text_of(inner(held, "state"))
        case "boolean":
            return held if isinstance(held, bool) else None
        case _ if kind in _PLAIN:
            return held[:LONGEST_VALUE] if isinstance(held, str) else held if isinstance(held, int | float) else None
        case _:
            return None


def _rollup(held: Object) -> JsonValue:
    if held.get("type") != "array":
        return None if held.get("type") == "rollup" else _value(held)
    values = [_value(each) for each in objects_of(held.get("array")) if each.get("type") != "rollup"]
    return [_words(each) for each in values if each not in (None, "", [])]


def _date(held: Object) -> str:
    return "/".join(filter(None, (text_of(held.get("start")), text_of(held.get("end")))))


def _name(held: Object) -> str:
    return text_of(held.get("name")) or text_of(held.get("id"))


def _names(held: Sequence[Object]) -> list[JsonValue]:
    return [name for each in held if (name := _name(each))]


def _words(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text_of(value)
