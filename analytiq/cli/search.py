"""`analytiq search`."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.text import Text

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import api_client
from analytiq.cli.console import note, output
from analytiq.cli.documents_by_name import ids_of, is_id
from analytiq.cli.options import DataDir, IndexType
from analytiq.cli.passages import render_passage
from analytiq.client import Client, Passage

app = typer.Typer()


class SearchMode(StrEnum):
    """The retrievers that find passages."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@app.command()
def search(
    *,
    query: Annotated[str, typer.Argument(help="Question to answer.")],
    kb: Annotated[
        str | None, typer.Option(help="Name or id of the knowledge base. Optional if there is only one.")
    ] = None,
    top_k: Annotated[int, typer.Option(min=1, max=100, help="Number of passages.")] = 5,
    document: Annotated[list[str] | None, typer.Option(help="Search this document only. Repeatable.")] = None,
    mode: Annotated[SearchMode | None, typer.Option(help="Search by vectors and keywords, or by one of them.")] = None,
    section: Annotated[bool, typer.Option("--section", help="Print the section around each passage.")] = False,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DETAIL",
            help="Of each document: tags, metadata or metadata.<key>. Default: tags, metadata.label. Repeatable.",
        ),
    ] = None,
    index_type: Annotated[
        list[IndexType] | None,
        typer.Option(help="Granularity of the passages: paragraph, section or website. Default: all. Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's response.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Find passages, with file, page and relevance."""
    with api_client(data_dir) as client:
        run_search(
            client,
            query,
            kb=kb,
            top_k=top_k,
            documents=document or [],
            mode=mode,
            with_sections=section,
            include=include,
            index_types=index_type or (),
            as_json=as_json,
        )


@app.command()
def explain(
    *,
    query: Annotated[str, typer.Argument(help="Question to answer.")],
    document: Annotated[str, typer.Argument(help="Name or id of the document.")],
    kb: Annotated[
        str | None, typer.Option(help="Name or id of the knowledge base. Optional if there is only one.")
    ] = None,
    mode: Annotated[SearchMode | None, typer.Option(help="Search by vectors and keywords, or by one of them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's response.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Explain why a search finds a document, or why not."""
    with api_client(data_dir) as client:
        run_explain(client, query, document, kb=kb, mode=mode, as_json=as_json)


def run_search(
    client: Client,
    query: str,
    *,
    kb: str | None,
    top_k: int,
    documents: Sequence[str],
    mode: str | None,
    with_sections: bool = False,
    include: Sequence[str] | None = None,
    index_types: Sequence[str] = (),
    as_json: bool,
) -> None:
    """Print the passages found in a knowledge base.

    Args:
        client: the organization's client.
        query: the question.
        kb: name or id; None for the only one.
        top_k: the number of passages.
        documents: names of documents to search in; empty for all.
        mode: the retrievers; None for the default.
        with_sections: print the section of each match in place of its passage.
        include: the details of the documents; None for the default.
        index_types: granularities of the passages; empty for all.
        as_json: print the API's answer.
    """
    knowledge_base = knowledge_bases.choose(client, kb)
    ids = [document_id for name in documents for document_id in _ids_of(client, name)] if documents else None
    wanted: JsonValue = None if include is None else [*include]
    answer = client.search(
        knowledge_base.kb_id,
        query,
        top_k=top_k,
        document_ids=ids,
        mode=mode,
        include_section=with_sections or None,
        include=wanted,
        index_types=[*index_types],
    )
    if as_json:
        output.print_json(answer.model_dump_json())
        return
    for lacking in answer.degraded:
        note(f"Without {lacking.step}: {lacking.detail}")
    for number, passage in enumerate(answer.results, start=1):
        print_passage(passage, heading=f"{number}.")
    if answer.results:
        return
    if knowledge_base.status == "indexing":
        note(f"Nothing was found. {knowledge_base.name!r} is still being indexed; try again in a moment.")
    else:
        note(f"Nothing was found among {answer.total_count} chunks of {knowledge_base.name!r}.")


def run_explain(client: Client, query: str, document: str, *, kb: str | None, mode: str | None, as_json: bool) -> None:
    """Print the stages of a document in a search, up to the one where it fails."""
    knowledge_base = knowledge_bases.choose(client, kb)
    for document_id in _ids_of(client, document, may_be_id=True):
        explanation = client.explain(knowledge_base.kb_id, query, document_id, mode=mode)
        if as_json:
            output.print_json(explanation.model_dump_json())
            continue
        found = "is found" if explanation.is_found else "is not found"
        output.print(f"[bold]{escape(explanation.document_name)}[/] {found} in {escape(knowledge_base.name)!r}")
        for stage in explanation.stages:
            mark = "[green]✓[/]" if stage.is_passed else "[red]✗[/]"
            output.print(f"  {mark} {stage.stage.replace('_', ' ')}: {escape(stage.detail)}")
        if (weights := explanation.weights) is not None:
            legs = f"vectors {weights.vector:.2f}, words {weights.lexical:.2f}"
            output.print(f"  [dim]weights: {legs}; {escape(weights.reason)}[/]")
        for number, passage in enumerate(explanation.passages, start=1):
            print_passage(passage, heading=f"  its number {number}:")


def print_passage(passage: Passage, *, heading: str) -> None:
    """Print a passage with its source."""
    place = f"[bold]{escape(passage.source)}[/], {pages_of(passage)}"
    kind = f"relevance {passage.relevance:.2f}" if passage.is_matched else "beside a match"
    if passage.index_type != IndexType.PARAGRAPH:
        kind += f", {passage.index_type}"
    output.print(f"{heading} {place}   [dim]{kind}[/]")
    if path := [name for name in (passage.page_name, *passage.heading_path) if name]:
        output.print(f"   [dim]{escape(' › '.join(path))}[/]")
    if lines := [*([passage.source_url] if passage.source_url else []), *_details(passage)]:
        output.print(*(Text(f"   {line}", style="dim") for line in lines), sep="\n")
    if passage.section is not None:
        shown = render_passage(passage.section.content, [], begins_document=passage.section.start == 0)
    else:
        shown = render_passage(passage.content, passage.highlights, begins_document=passage.start == 0)
    output.print(*(Text("   ") + line for line in shown.split()), Text(), sep="\n")


def _details(passage: Passage) -> Iterator[str]:
    """Yield a line of the passage's chunk, one of the tags of its document, and one of its metadata."""
    if passage.chunk_id:
        noun = "token" if passage.token_count == 1 else "tokens"
        yield f"chunk {passage.chunk_id}, {passage.token_count} {noun}"
    if passage.tags:
        yield f"tags: {', '.join(passage.tags)}"
    if passage.metadata:
        values = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in passage.metadata.items())
        yield f"metadata: {', '.join(values)}"


def pages_of(passage: Passage) -> str:
    """Return the page or pages of a passage."""
    first, last = passage.first_page, passage.last_page
    return f"page {first}" if first == last else f"pages {first}–{last}"


def _ids_of(client: Client, name: str, *, may_be_id: bool = False) -> list[str]:
    if may_be_id and is_id(name):
        return [name]
    return ids_of(client, name)
