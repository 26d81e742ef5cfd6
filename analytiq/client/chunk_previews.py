"""Client call for the chunks that settings would make."""

from collections.abc import Sequence
from typing import Any

from analytiq.client.connection import Connection
from analytiq.client.models import ChunkPreview


class ChunkPreviewCalls(Connection):
    """Chunk previews; nothing is stored or charged for them."""

    def preview_chunks(
        self,
        *,
        document_id: str | None = None,
        text: str | None = None,
        chunker_type: str = "auto",
        chunk_size: int = 512,
        chunk_overlap: int | None = None,
        section_level: int = 0,
        index_types: Sequence[str] = ("paragraph",),
        skip: int = 0,
        limit: int = 100,
    ) -> ChunkPreview:
        """Return the chunks of a document or of a text under these settings. Sizes are in tokens.

        Args:
            document_id: a document whose text is extracted; or else `text`.
            text: a text whose structure are its Markdown marks.
            chunker_type: name of the chunker.
            chunk_size: most tokens of a chunk.
            chunk_overlap: None: 128, at most a quarter of `chunk_size`.
            section_level: level of the headings that no chunk crosses, 0 for none.
            index_types: granularities: paragraph, section, website.
            skip: chunks to skip.
            limit: most chunks of the answer, up to 1,000.
        """
        body: dict[str, Any] = {"chunker_type": chunker_type, "chunk_size": chunk_size, "skip": skip, "limit": limit}
        body |= {"section_level": section_level, "index_types": list(index_types)}
        given = {"document_id": document_id, "text": text, "chunk_overlap": chunk_overlap}
        body |= {name: value for name, value in given.items() if value is not None}
        answer = self._transport.call("POST", "/chunk-preview", json=body, is_repeatable=True)
        return ChunkPreview.model_validate_json(answer)
