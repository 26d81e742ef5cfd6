"""Elements whose text is no text of the page, and the count of words that are hidden."""

from analytiq.ingestion.parsing.completeness import count_words
from analytiq.ingestion.parsing.html_tree import Element

SILENT = frozenset({
    "audio", "base", "canvas", "col", "colgroup", "datalist", "link", "meta", "noembed", "noscript", "param",
    "progress", "rp", "script", "source", "style", "title", "track", "video", "wbr", "xmp",
})  # fmt: skip


def hidden_words_of(element: Element) -> int:
    """Count the words below an element that its page hides."""
    return sum(
        count_words(child)
        for inner in element.walk()
        if inner.tag not in SILENT
        for child in inner.children
        if isinstance(child, str)
    )
