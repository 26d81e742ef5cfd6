"""`analytiq extract`: extract a document's text again."""

from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note
from analytiq.cli.options import DataDir
from analytiq.errors import InvalidInputError
from analytiq.models.page_reading import PageReading

app = typer.Typer()


@app.command("extract")
def extract(
    *,
    document_id: Annotated[str, typer.Argument(help="Id of the document.")],
    ocr: Annotated[
        bool | None,
        typer.Option("--ocr/--no-ocr", help="Read every page of a PDF by OCR, or its own text. Default: as before."),
    ] = None,
    flawed_only: Annotated[
        bool, typer.Option("--flawed-only", help="With --ocr: only pages whose own text is flawed or missing.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Extract a document's text again, a PDF's pages by OCR if you choose it.

    Searches find its present text until the new text is indexed. The choice of OCR holds for later extractions too.
    """
    if flawed_only and not ocr:
        raise InvalidInputError("--flawed-only chooses pages for OCR. Give --ocr too.")
    with api_client(data_dir) as client:
        document = client.extract_document(document_id, read_pages=_choice(ocr=ocr, flawed_only=flawed_only))
    note(f"{document.document_name} is being extracted again. Pages: {document.read_pages}.")


def _choice(*, ocr: bool | None, flawed_only: bool) -> PageReading | None:
    if ocr is None:
        return None
    if not ocr:
        return PageReading.AUTO
    return PageReading.OCR_FLAWED if flawed_only else PageReading.OCR
