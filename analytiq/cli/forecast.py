"""`analytiq forecast`: the cost of a planned knowledge base."""

from collections.abc import Sequence
from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.options import DataDir, IndexType, IndexTypes, SectionLevel
from analytiq.client import Client, Forecast
from analytiq.client.organization_models import PriceRange, Range
from analytiq.errors import NotFoundError

app = typer.Typer()


@app.command()
def forecast(
    *,
    tag: Annotated[list[str], typer.Option(help="Tag of the documents to include. Repeatable.")],
    model: Annotated[str | None, typer.Option(help="Embedding model. Default: the organization's.")] = None,
    chunker: Annotated[str, typer.Option(help="Chunker that splits the texts.")] = "auto",
    chunk_size: Annotated[int, typer.Option(min=1, max=8192, help="Tokens.")] = 512,
    chunk_overlap: Annotated[
        int | None,
        typer.Option(min=0, max=4096, help="Overlap in tokens. Default: 128, at most a quarter of the chunk."),
    ] = None,
    section_level: SectionLevel = None,
    index_type: IndexTypes = None,
    data_dir: DataDir = None,
) -> None:
    """Show what a knowledge base would cost before you create it."""
    with api_client(data_dir) as client:
        print_forecast(
            client,
            tag,
            chunker=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            model=model,
            section_level=section_level or 0,
            index_types=index_type or (IndexType.PARAGRAPH,),
        )


def print_forecast(
    client: Client,
    tags: Sequence[str],
    *,
    chunker: str,
    chunk_size: int,
    chunk_overlap: int | None,
    model: str | None,
    section_level: int = 0,
    index_types: Sequence[str] = (IndexType.PARAGRAPH,),
) -> None:
    """Print the present cost of indexing the documents with any of the tags.

    Raises:
        NotFoundError: there is no such tag.
    """
    tag_ids: list[str] = []
    for name in dict.fromkeys(tags):
        found = client.find_tag(name)
        if found is None:
            raise NotFoundError(f"There is no tag {name!r}; `analytiq ingest PATH --tag {name}` makes one.")
        tag_ids.append(found.tag_id)
    forecast = client.forecast(
        tag_ids=tag_ids,
        chunker_type=chunker,
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        embedding_model=model,
        section_level=section_level,
        index_types=index_types,
    )
    print_rows(("", "about" if forecast.is_estimated else "exactly", "at least", "at most"), _rows(forecast))
    for sentence in _notes(forecast):
        note(sentence)


def _rows(forecast: Forecast) -> list[tuple[str, ...]]:
    counted = {
        "chunks": forecast.chunks,
        "tokens": forecast.tokens,
        "cached chunks": forecast.cached_chunks,
        "SPUs": forecast.spus,
    }
    rows = [(name, *_numbers(found)) for name, found in counted.items()]
    price = forecast.price_usd
    return [*rows, ("US dollars", *(_dollars(price) if price is not None else ("unknown", "", "")))]


def _numbers(found: Range) -> tuple[str, str, str]:
    return str(found.value), str(found.low), str(found.high)


def _dollars(price: PriceRange) -> tuple[str, ...]:
    return tuple(f"{amount:.4f}" for amount in (price.value, price.low, price.high))


def _notes(forecast: Forecast) -> list[str]:
    documents = f"{forecast.document_count} documents, embedded by {forecast.embedding_model}"
    if forecast.cached_share is not None:
        documents += f"; {forecast.cached_share:.0%} of their chunks are cached"
    notes = [f"{documents}.", forecast.texts_go_to.sentence]
    if forecast.is_estimated:
        notes.append(
            f"Estimated from {forecast.sampled_characters} characters of {forecast.sampled_documents} documents; the"
            " truth is probably (19 times of 20) within the range."
        )
    if not forecast.is_cache_known:
        notes.append("The cache could not be checked, since the model has not been used yet. All texts count as new.")
    if forecast.unknown_document_count:
        names = ", ".join(f"{item.document_name!r} ({item.state})" for item in forecast.unknown_documents)
        others = forecast.unknown_document_count - len(forecast.unknown_documents)
        more = f" and {others} more" if others else ""
        notes.append(f"Not in the numbers, since their text is not known: {names}{more}.")
    return notes
