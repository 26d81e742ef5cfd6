"""Conversion of HTML to Markdown that keeps every word, for documents without navigation."""

from html_to_markdown import ConversionOptions, convert

_OPTIONS = ConversionOptions(
    extract_metadata=False,
    skip_images=True,
    # Addresses of links are noise to an embedding, and half of a page's characters; their words stay.
    strip_tags=["a"],
    autolinks=False,
    compact_tables=True,
)


def html_to_markdown(html: str) -> str:
    """Convert headings, lists and tables to Markdown; escape nothing, so that words stay as written."""
    return (convert(html, _OPTIONS).content or "").strip()
