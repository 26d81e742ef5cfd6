"""HTML to Markdown with every word kept: for documents that have no navigation around them."""

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
    """Headings, lists and tables as Markdown; nothing is escaped, so that words stay as they were written."""
    return (convert(html, _OPTIONS).content or "").strip()
