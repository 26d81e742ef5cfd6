"""Names of WordprocessingML in both of its namespaces: elements are told by their local names."""

from analytiq.ingestion.parsing.xml_part import Element, attributes_of

TRANSITIONAL = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
"""Namespaces of transitional documents, which Word writes, and of strict ones, which the standard prefers."""

_MOST_NAMES = 10_000
_LOCAL_NAMES: dict[object, str] = {}
"""Local names by tag, since taking a tag apart was a tenth of the time of a large table."""
_OFF = frozenset({"0", "false", "off"})


def local_name(element: Element) -> str:
    """Return the name without its namespace; "" for comments and processing instructions."""
    tag = element.tag
    name = _LOCAL_NAMES.get(tag)
    if name is None:
        name = tag.rpartition("}")[2] if isinstance(tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
        if len(_LOCAL_NAMES) < _MOST_NAMES:
            _LOCAL_NAMES[tag] = name
    return name


def attribute(element: Element, name: str) -> str | None:
    """Return an attribute of the main namespace, or one without a namespace."""
    for key in (f"{{{TRANSITIONAL}}}{name}", name, f"{{{STRICT}}}{name}"):
        value = element.get(key)
        if value is not None:
            return value
    return None


def any_attribute(element: Element, name: str) -> str | None:
    """Return the first attribute of this local name in any namespace."""
    return next((value for key, value in attributes_of(element) if key.rpartition("}")[2] == name), None)


def value_of(element: Element | None, default: str = "") -> str:
    """Return the attribute `val`."""
    if element is None:
        return default
    found = attribute(element, "val")
    return default if found is None else found


def number_of(element: Element | None, default: int = 0) -> int:
    """Return the attribute `val` as a number."""
    return as_number(value_of(element), default)


def as_number(text: str | None, default: int = 0) -> int:
    """Return a whole number of at most nine digits; the default for anything else."""
    digits = (text or "").strip()
    is_number = len(digits) < 10 and digits.isascii() and digits.removeprefix("-").isdigit()
    return int(digits) if is_number else default


def is_on(element: Element | None) -> bool:
    """Return True if a property is there and not switched off."""
    return element is not None and value_of(element, "1").lower() not in _OFF


def child_of(element: Element | None, *path: str) -> Element | None:
    """Return the first element along a path of local names."""
    for name in path:
        if element is None or not len(element):
            return None
        first = element[0]
        # Properties come first, and most children that are asked for are properties.
        element = first if local_name(first) == name else next(element.iterchildren(f"{{*}}{name}"), None)
    return element


def chosen_alternative(element: Element) -> Element | None:
    """Return the half of an `AlternateContent` to read: the first choice with any text, else the fallback."""
    choices = list(element.iterchildren("{*}Choice"))
    fallback = child_of(element, "Fallback")
    for choice in choices:
        if fallback is None or _has_text(choice) or not _has_text(fallback):
            return choice
    return fallback


def _has_text(element: Element) -> bool:
    return next(element.iter("{*}t", "{*}chart", "{*}relIds"), None) is not None
