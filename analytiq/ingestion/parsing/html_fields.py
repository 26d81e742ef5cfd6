"""Fields of forms and descriptions of pictures: what of them is shown or says something."""

from analytiq.ingestion.parsing.html_tree import Element

WORDLESS_INPUTS = frozenset({"hidden", "password", "file", "image", "range", "color"})
_PICTURE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp")
_EMPTY_DESCRIPTIONS = frozenset({"image", "img", "picture", "photo", "icon", "logo", "spacer"})


def chosen_options(element: Element) -> str:
    """Return the options that a choice shows as chosen."""
    options = [child for child in element.walk() if child.tag == "option"]
    chosen = [option for option in options if "selected" in option.attributes]
    if not chosen and not {"multiple", "size"} & element.attributes.keys():
        chosen = options[:1]
    return ", ".join(" ".join(option.text().split()) for option in chosen)


def says_something(description: str) -> bool:
    """Return True if the description of a picture holds words, and is no file's name."""
    lower = description.lower()
    is_name = " " not in description and lower.endswith(_PICTURE_NAMES)
    return any(map(str.isalnum, description)) and not is_name and lower not in _EMPTY_DESCRIPTIONS
