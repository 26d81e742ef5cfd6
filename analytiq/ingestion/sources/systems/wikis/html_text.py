"""HTML of texts that services keep in formats of their own."""

from html import escape

from analytiq.ingestion.documents.naming import is_control
from analytiq.ingestion.sources.systems.wikis.json_values import web_address


def escaped(text: str) -> str:
    """Return a text as HTML, without characters that HTML cannot hold."""
    return escape("".join(" " if is_control(each) and each not in "\n\t" else each for each in text), quote=True)


def with_breaks(text: str) -> str:
    """Return a text as HTML whose line ends stay."""
    return escaped(text).replace("\n", "<br>")


def link(address: str, shown: str) -> str:
    """Return a link; only its words if the address is none of the web. `shown` is HTML."""
    target = web_address(address)
    return f'<a href="{escaped(target)}">{shown}</a>' if target else shown


def code_block(text: str, language: str = "") -> str:
    """Return a block of code."""
    name = "".join(each for each in language.lower().replace(" ", "-") if each.isalnum() or each in "+#-.")[:40]
    kind = f' class="language-{name}"' if name else ""
    return f"<pre><code{kind}>{escaped(text)}</code></pre>"


def html_page(title: str, body: str) -> bytes:
    """Return a whole page."""
    head = f'<!doctype html><html><head><meta charset="utf-8"><title>{escaped(title)}</title></head>'
    text = f"{head}<body><main><h1>{escaped(title)}</h1>\n{body}</main></body></html>"
    return text.encode("utf-8", "replace")
