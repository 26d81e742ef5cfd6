"""`analytiq search`."""

from collections.abc import Sequence
from textwrap import indent

from rich.markup import escape

from analytiq.cli import knowledge_bases
from analytiq.cli.console import note, output
from analytiq.client import Client, Passage
from analytiq.errors import NotFoundError


def run_search(
    client: Client, query: str, *, kb: str | None, top_k: int, documents: Sequence[str], as_json: bool
) -> None:
    """Print the passages that a knowledge base has for a query.

    Args:
        client: of the organization.
        query: what is asked.
        kb: name or id; None where there is only one.
        top_k: how many passages.
        documents: names of documents to search in; all, where there is none.
        as_json: print what the API answers.
    """
    knowledge_base = knowledge_bases.choose(client, kb)
    ids = [document_id for name in documents for document_id in _ids_of(client, name)] if documents else None
    answer = client.search(knowledge_base.kb_id, query, top_k=top_k, document_ids=ids)
    if as_json:
        output.print_json(answer.model_dump_json())
        return
    for number, passage in enumerate(answer.results, start=1):
        print_passage(passage, heading=f"{number}.")
    if answer.results:
        return
    if knowledge_base.status == "indexing":
        note(f"Nothing was found: {knowledge_base.name!r} is still being indexed; ask again in a moment.")
    else:
        note(f"Nothing was found among {answer.total_count} chunks of {knowledge_base.name!r}.")


def print_passage(passage: Passage, *, heading: str) -> None:
    """Print a passage with where it stands."""
    place = f"[bold]{escape(passage.source)}[/], {pages_of(passage)}"
    kind = f"relevance {passage.relevance:.2f}" if passage.is_matched else "beside a match"
    output.print(f"{heading} {place}   [dim]{kind}[/]")
    output.print(escape(indent(passage.content.strip(), "   ")) + "\n")


def pages_of(passage: Passage) -> str:
    """Its page, or its pages."""
    first, last = passage.first_page, passage.last_page
    return f"page {first}" if first == last else f"pages {first}–{last}"


def _ids_of(client: Client, name: str) -> list[str]:
    ids = [item.document_id for item in client.documents(name_search=name) if item.document_name == name]
    if not ids:
        raise NotFoundError(f"No document is called {name!r}.")
    return ids
