"""Operations on what a document contains: its file, text, blocks and places."""

from analytiq.client.calls import blocks, call, get
from analytiq.client.models import DocumentBlocks, DocumentText, PassagePlace
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items, Request


class DocumentTextCalls(Calls):
    """Files and texts of documents."""

    @listing
    def download_document(self, document_id: str) -> Items[bytes]:
        """Yield the bytes of a document's file, as they arrive."""
        return blocks(f"{_path(document_id)}/original")

    @operation
    def document_text(
        self, document_id: str, *, page: int | None = None, skip: int = 0, limit: int = 100
    ) -> Flow[DocumentText]:
        """Return its extracted text: up to `limit` pages (at most 1000) after the first `skip`, or one page."""
        return get(f"{_path(document_id)}/text", DocumentText, {"page": page, "skip": skip, "limit": limit})

    @operation
    def document_plain_text(self, document_id: str) -> Flow[str]:
        """Return its whole extracted text; offsets of passages and citations are positions in it."""
        request = Request("GET", f"{_path(document_id)}/text", query={"format": "plain"}, accepts_text=True)
        return (yield from call(request)).content.decode()

    @operation
    def document_blocks(
        self, document_id: str, *, page: int | None = None, skip: int = 0, limit: int = 100
    ) -> Flow[DocumentBlocks]:
        """Return the blocks of up to `limit` pages (at most 1000) after the first `skip`, or of one page."""
        return get(f"{_path(document_id)}/blocks", DocumentBlocks, {"page": page, "skip": skip, "limit": limit})

    @operation
    def locate_passage(
        self, document_id: str, *, start: int, end: int, text_hash: str | None = None
    ) -> Flow[PassagePlace]:
        """Return the boxes, on its pages, of the characters [start, end) of its text, as in a result or citation.

        With the `text_hash` of that result or citation, a text replaced since is a 409 (`text_replaced`).
        """
        query = {"start": start, "end": end, "text_hash": text_hash}
        return get(f"{_path(document_id)}/boxes", PassagePlace, query)


def _path(document_id: str) -> str:
    return f"/documents/{segment(document_id)}"
