"""Client call for the forecast cost of a knowledge base."""

from collections.abc import Sequence
from typing import Any

from analytiq.client.connection import Connection
from analytiq.client.organization_models import Forecast


class ForecastCalls(Connection):
    """Forecasts; nothing is embedded or charged for them."""

    def forecast(
        self,
        *,
        tag_ids: Sequence[str],
        chunker_type: str = "auto",
        chunk_size: int = 512,
        chunk_overlap: int | None = None,
        embedding_model: str | None = None,
        context: bool = True,
        searched_metadata: Sequence[str] = (),
        section_level: int = 0,
        index_types: Sequence[str] = ("paragraph",),
    ) -> Forecast:
        """Forecast the cost of indexing a new knowledge base. Sizes are in tokens.

        Args:
            tag_ids: documents with any of these are counted.
            chunker_type: name of the chunker.
            chunk_size: most tokens of a chunk.
            chunk_overlap: None: 128, at most a quarter of `chunk_size`.
            embedding_model: None: the organization's default.
            context: embed each chunk with its context.
            searched_metadata: metadata keys whose values are part of the context.
            section_level: level of the headings that no chunk crosses, 0 for none.
            index_types: granularities: paragraph, section, website.
        """
        body: dict[str, Any] = {"tag_ids": list(tag_ids), "chunker_type": chunker_type, "chunk_size": chunk_size}
        body |= {"context": context, "searched_metadata": list(searched_metadata)}
        body |= {"section_level": section_level, "index_types": list(index_types)}
        if chunk_overlap is not None:
            body["chunk_overlap"] = chunk_overlap
        if embedding_model is not None:
            body["embedding_model"] = embedding_model
        answer = self._transport.call("POST", "/knowledge-bases/forecast", json=body, is_repeatable=True)
        return Forecast.model_validate_json(answer)
