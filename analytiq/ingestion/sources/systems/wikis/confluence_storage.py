"""Confluence's storage format, XHTML with macros, as HTML."""

import re
from collections.abc import Mapping
from html.entities import html5
from typing import cast

from lxml import etree

from analytiq.ingestion.parsing.xml_part import Element
from analytiq.ingestion.sources.systems.wikis.html_text import code_block, escaped, link

DEEPEST = 80
"""Most elements within one another; deeper ones are read as words."""
_AC, _RI = "ac", "ri"
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_KEPT = frozenset({
    "p", "ul", "ol", "li", "table", "thead", "tbody", "tfoot", "tr", "strong", "em", "b", "i", "u", "s", "del", "code",
    "pre", "blockquote", "sub", "sup", "div", "dl", "dt", "dd",
})  # fmt: skip
_BOXES = {"info": "Info", "note": "Note", "tip": "Tip", "warning": "Warning", "panel": ""}
_SILENT = frozenset({"placeholder", "parameter", "task-id", "task-uuid", "task-status", "adf-attribute"})


def user_ids(storage: str) -> list[tuple[str, str]]:
    """Return the users that a text mentions: the name of the attribute and its value."""
    found = [
        (name, value)
        for element in _tree(storage).iter(f"{{{_RI}}}user")
        for name in ("account-id", "userkey", "username")
        if (value := _attribute(element, _RI, name))
    ]
    return list(dict.fromkeys(found))


def storage_html(storage: str, names: Mapping[str, str]) -> str:
    """Return a text as HTML; `names` are the names of users by the ids of `user_ids`."""
    return _Writer(names).inside(_tree(storage), 0)


class _Writer:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def inside(self, element: Element, depth: int) -> str:
        """Return what an element contains."""
        if depth > DEEPEST:
            return escaped(_words(element))
        parts = [escaped(element.text or "")]
        for child in element:
            if isinstance(child.tag, str):
                parts.append(self._element(child, depth + 1))
            parts.append(escaped(child.tail or ""))
        return "".join(parts)

    def _element(self, element: Element, depth: int) -> str:
        space, name = _name(element)
        if space == _AC:
            return self._of_confluence(element, name, depth)
        if space == _RI:
            return self._resource(element, name)
        if re.fullmatch("h[1-6]", name):
            level = min(int(name[1]) + 1, 6)  # the title of the page is the first level
            return f"<h{level}>{self.inside(element, depth)}</h{level}>\n"
        if name in ("script", "style"):
            return ""
        if name in ("br", "hr"):
            return f"<{name}>"
        if name == "a":
            return link(element.get("href") or "", self.inside(element, depth))
        if name == "time":
            return escaped(element.get("datetime") or "") + self.inside(element, depth)
        if name in ("td", "th"):
            spans = "".join(
                f' {each}="{value}"'
                for each in ("colspan", "rowspan")
                if (value := element.get(each) or "").isdigit() and len(value) < 4
            )
            return f"<{name}{spans}>{self.inside(element, depth)}</{name}>"
        shown = self.inside(element, depth)
        return f"<{name}>{shown}</{name}>" if name in _KEPT else shown

    def _of_confluence(self, element: Element, name: str, depth: int) -> str:  # one line an element
        match name:
            case "structured-macro" | "macro":
                return self._macro(element, depth)
            case "task-list":
                return f"<ul>{self.inside(element, depth)}</ul>\n"
            case "task":
                is_done = _words(_child(element, "task-status")) == "complete"
                body = _child(element, "task-body")
                return f"<li>{'[x]' if is_done else '[ ]'} {self.inside(body, depth) if body is not None else ''}</li>"
            case "link":
                return self._link(element, depth)
            case "image":
                return self._image(element, depth)
            case "emoticon" | "emoji":
                shown = _attribute(element, _AC, "emoji-fallback") or f":{_attribute(element, _AC, 'name')}:"
                return escaped(shown)
            case "adf-extension":
                fallback = _child(element, "adf-fallback")
                return self.inside(element if fallback is None else fallback, depth)
            case "layout-section" | "layout-cell":
                return f"<div>{self.inside(element, depth)}</div>\n"
            case _ if name in _SILENT:
                return ""
            case _:
                return self.inside(element, depth)

    def _macro(self, macro: Element, depth: int) -> str:  # one line a macro
        name = _attribute(macro, _AC, "name").strip().lower()
        plain, rich = _child(macro, "plain-text-body"), _child(macro, "rich-text-body")
        title = _parameter(macro, "title")
        heading = f"<p><b>{escaped(title)}</b></p>" if title else ""
        body = self.inside(rich, depth) if rich is not None else ""
        match name:
            case "code" | "noformat":
                return f"{heading}{code_block(_words(plain), _parameter(macro, 'language'))}\n"
            case "status":
                return f"[{escaped(title)}]"
            case "jira":
                key = _parameter(macro, "key") or _parameter(macro, "jqlquery")
                return f"Jira: {escaped(key)}"
            case "include" | "excerpt-include":
                pages = "".join(self._resource(each, "page") for each in macro.iter(f"{{{_RI}}}page"))
                return f"<p>Included page: {pages}</p>\n"
            case "view-file" | "viewpdf" | "viewdoc" | "viewxls" | "viewppt" | "multimedia":
                files = [self._resource(each, "attachment") for each in macro.iter(f"{{{_RI}}}attachment")]
                return f"<p>File: {', '.join(files) or escaped(_parameter(macro, 'name'))}</p>\n"
            case "mathblock" | "mathinline" | "latex" | "mathjax-block-macro" | "mathjax-inline-macro":
                return f"$${escaped(_words(plain) or _parameter(macro, 'equation') or _words(rich))}$$"
            case _ if name in _BOXES:
                kind = f"<p><b>{_BOXES[name]}</b></p>" if _BOXES[name] and not title else ""
                return f"<blockquote>{kind}{heading}{body}</blockquote>\n"
            case _:
                text = f"<p>{escaped(_words(plain))}</p>" if plain is not None else ""
                return f"{heading}{body}{text}" if rich is not None or plain is not None else ""

    def _link(self, element: Element, depth: int) -> str:
        body = _child(element, "link-body")
        words = (
            self.inside(body, depth) if body is not None else escaped(_words(_child(element, "plain-text-link-body")))
        )
        for child in element:
            if isinstance(child.tag, str) and _name(child)[0] == _RI:
                shown = self._resource(child, _name(child)[1])
                return f"{words} ({shown})" if words and _name(child)[1] == "user" else words or shown
        return words or escaped(_attribute(element, _AC, "anchor"))

    def _image(self, element: Element, depth: int) -> str:
        names = [
            self._resource(child, _name(child)[1])
            for child in element
            if isinstance(child.tag, str) and _name(child)[0] == _RI
        ]
        alt, caption = _attribute(element, _AC, "alt"), _child(element, "caption")
        words = [*names, escaped(alt) if alt and alt not in names else ""]
        shown = f"Image: {', '.join(filter(None, words))}"
        return f"{shown}. {self.inside(caption, depth)}" if caption is not None else shown

    def _resource(self, element: Element, name: str) -> str:
        match name:
            case "user":
                ids = [_attribute(element, _RI, each) for each in ("account-id", "userkey", "username")]
                user_id = next(filter(None, ids), "")
                return f"@{escaped(self._names.get(user_id, user_id))}"
            case "attachment":
                return escaped(_attribute(element, _RI, "filename"))
            case "url":
                address = _attribute(element, _RI, "value")
                return link(address, escaped(address))
            case "space":
                return escaped(_attribute(element, _RI, "space-key"))
            case _:
                return escaped(_attribute(element, _RI, "content-title"))


def _tree(storage: str) -> Element:
    """Return the tree of a text; a damaged one as far as it can be read."""
    text = _ENTITY.sub(_character, storage.replace("\0", ""))
    whole = f'<root xmlns:ac="{_AC}" xmlns:ri="{_RI}">{text}</root>'
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    # lxml returns None where nothing can be read, which its types do not tell.
    root = cast("Element | None", etree.fromstring(whole.encode("utf-8", "replace"), parser))
    return root if root is not None else etree.Element("root")


def _character(found: re.Match[str]) -> str:
    return found[0] if found[1] in _OF_XML else html5.get(f"{found[1]};", found[0])


def _name(element: Element) -> tuple[str, str]:
    name = etree.QName(element)
    return name.namespace or "", name.localname.lower()


def _attribute(element: Element, space: str, name: str) -> str:
    return element.get(f"{{{space}}}{name}") or ""


def _child(element: Element, name: str) -> Element | None:
    return element.find(f"{{{_AC}}}{name}")


def _parameter(macro: Element, name: str) -> str:
    for each in macro.findall(f"{{{_AC}}}parameter"):
        if _attribute(each, _AC, "name").lower() == name:
            return _words(each)
    return ""


def _words(element: Element | None) -> str:
    return "".join(str(each) for each in element.itertext()) if element is not None else ""
