"""Operations on knowledge bases, and forecasts and previews of them."""

from collections.abc import Sequence
from typing import Any

from analytiq.client.calls import all_items, delete, first, get, given, post, put
from analytiq.client.models import ChunkPreview, IndexedChunk, IndexedDocument, KnowledgeBase, ListedKnowledgeBase
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.organization_models import Forecast
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items


class KnowledgeBaseCalls(Calls):
    """Knowledge bases and their contents."""

    @listing
    def knowledge_bases(self, *, name_search: str | None = None) -> Items[ListedKnowledgeBase]:
        """Yield all knowledge bases, newest first."""
        return all_items("/knowledge-bases", "knowledge_bases", ListedKnowledgeBase, {"name_search": name_search})

    @operation
    def knowledge_base(self, kb_id: str) -> Flow[KnowledgeBase]:
        """Return a knowledge base with its present counts."""
        return get(_path(kb_id), KnowledgeBase)

    @operation
    def find_knowledge_base(self, name: str) -> Flow[KnowledgeBase | None]:
        """Return the knowledge base of exactly this name."""
        wanted = name.strip()
        return (yield from first(self.knowledge_bases(name_search=wanted), lambda item: item.name == wanted))

    @listing
    def knowledge_base_documents(self, kb_id: str) -> Items[IndexedDocument]:
        """Yield the documents that are indexed in a knowledge base, with their numbers of chunks."""
        return all_items(f"{_path(kb_id)}/documents", "documents", IndexedDocument)

    @listing
    def chunks(self, kb_id: str, *, document_id: str | None = None) -> Items[IndexedChunk]:
        """Yield the indexed chunks of all documents or of one, by document and number."""
        return all_items(f"{_path(kb_id)}/chunks", "chunks", IndexedChunk, {"document_id": document_id})

    @operation
    def create_knowledge_base(
        self,
        name: str,
        *,
        tag_ids: Sequence[str] = (),
        description: str = "",
        chunker_type: str = "auto",
        chunk_size: int = 512,
        chunk_overlap: int = 128,
        embedding_model: str | None = None,
        coalesce_neighbors: int = 0,
        context: bool = True,
        searched_metadata: Sequence[str] = (),
        section_level: int = 0,
        index_types: Sequence[str] = ("paragraph",),
    ) -> Flow[KnowledgeBase]:
        """Create a knowledge base; documents that share a tag with it are indexed. Sizes are in tokens.

        `context`: embed and search each chunk with its document's title and name, and its headings.
        `searched_metadata`: metadata keys whose values are part of the context. `section_level`: level of the headings
        that no chunk crosses, 0 for none. `index_types`: granularities to index: paragraph, section, website.
        """
        body: dict[str, Any] = {
            "name": name,
            "description": description,
            "tag_ids": list(tag_ids),
            "chunker_type": chunker_type,
            "chunk_size": chunk_size,
            "chunk_overlap": chunk_overlap,
            "coalesce_neighbors": coalesce_neighbors,
            "context": context,
            "searched_metadata": list(searched_metadata),
            "section_level": section_level,
            "index_types": list(index_types),
        }
        return post("/knowledge-bases", KnowledgeBase, body | given(embedding_model=embedding_model))

    @operation
    def update_knowledge_base(
        self,
        kb_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        tag_ids: Sequence[str] | None = None,
        coalesce_neighbors: int | None = None,
    ) -> Flow[KnowledgeBase]:
        """Change the fields that are not None; documents join and leave by the new tags."""
        tags = None if tag_ids is None else list(tag_ids)
        body = given(name=name, description=description, tag_ids=tags, coalesce_neighbors=coalesce_neighbors)
        return put(_path(kb_id), KnowledgeBase, body)

    @operation
    def move_knowledge_base(
        self,
        kb_id: str,
        *,
        context: bool = True,
        searched_metadata: Sequence[str] | None = None,
        chunker_type: str | None = None,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        section_level: int | None = None,
        index_types: Sequence[str] | None = None,
    ) -> Flow[KnowledgeBase]:
        """Index its documents again by other settings, None for the present ones; searches go on meanwhile.

        A second move to the former settings cancels the first.
        """
        body = given(
            context=context,
            searched_metadata=None if searched_metadata is None else list(searched_metadata),
            chunker_type=chunker_type,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            section_level=section_level,
            index_types=None if index_types is None else list(index_types),
        )
        return post(f"{_path(kb_id)}/move", KnowledgeBase, body, changes=False)

    @operation
    def delete_knowledge_base(self, kb_id: str, *, detaches_prompts: bool = False) -> Flow[None]:
        """Delete it; searches fail from now on. Its documents stay.

        Fails with 409 if prompts search it, unless `detaches_prompts`: each of them then gets a version without it.
        """
        return delete(_path(kb_id), {"on_use": "detach" if detaches_prompts else None})


class ForecastCalls(Calls):
    """Forecasts and previews; nothing is stored, embedded or charged for them."""

    @operation
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
    ) -> Flow[Forecast]:
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
        body: dict[str, Any] = {
            "tag_ids": list(tag_ids),
            "chunker_type": chunker_type,
            "chunk_size": chunk_size,
            "context": context,
            "searched_metadata": list(searched_metadata),
            "section_level": section_level,
            "index_types": list(index_types),
        }
        body |= given(chunk_overlap=chunk_overlap, embedding_model=embedding_model)
        return post("/knowledge-bases/forecast", Forecast, body, changes=False)

    @operation
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
    ) -> Flow[ChunkPreview]:
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
        body |= given(document_id=document_id, text=text, chunk_overlap=chunk_overlap)
        return post("/chunk-preview", ChunkPreview, body, changes=False)


def _path(kb_id: str) -> str:
    return f"/knowledge-bases/{segment(kb_id)}"
