"""Implementation of the tools over the REST API; `server` has their names and descriptions."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue, TypeAdapter

from analytiq.client import Document, DocumentText, KnowledgeBase, ProblemError, SearchAnswer, Tag, UploadAnswer
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.mcp_server.reading import read
from analytiq.mcp_server.rest import RestApi
from analytiq.mcp_server.shapes import (
    DocumentPage,
    DocumentSummary,
    FoundPassage,
    FoundPassages,
    KnowledgeBasePage,
    KnowledgeBaseSummary,
    ReadDocument,
    Uploaded,
)
from analytiq.mcp_server.tag_names import PAGE_SIZE, tag_names
from analytiq.models.document import ExternalIdentity
from analytiq.models.upload import DuplicatePolicy

MOST_KNOWLEDGE_BASES = 20
"""Most knowledge bases of one search."""
_OBJECT = TypeAdapter(dict[str, Any])


class Tools:
    """The tools of one caller."""

    def __init__(self, api: RestApi) -> None:
        self._api = api

    async def search(self, query: str, knowledge_base: str | None, options: Mapping[str, Any]) -> FoundPassages:
        """Search one knowledge base, by its name or id, or all; `options`: fields of the API's search, None to omit.

        Raises:
            NotFoundError: it does not exist, or the organization has no knowledge base.
        """
        body: dict[str, Any] = {"query": query} | {name: value for name, value in options.items() if value is not None}
        notes: list[str] = []
        if knowledge_base is not None:
            chosen = await self._named(knowledge_base)
            path = f"/knowledge-bases/{chosen.kb_id}/search"
        else:
            found, total = await self._knowledge_bases(None, skip=0, limit=MOST_KNOWLEDGE_BASES)
            if not found:
                raise NotFoundError(
                    "There is no knowledge base yet. Create one, and documents that share a tag with it."
                )
            if total > len(found):
                notes.append(f"searched the newest {len(found)} of {total} knowledge bases; name one to search another")
            path, body["kb_ids"] = "/search", [item.kb_id for item in found]
        answer = SearchAnswer.model_validate_json(await self._api.post(path, body, is_repeatable=True))
        notes += [f"without {item.step}: {item.detail}" for item in answer.degraded]
        if not answer.results:
            notes.append(f"nothing was found among {answer.total_count} chunks")
        return FoundPassages(passages=[FoundPassage.of(item) for item in answer.results], notes=notes)

    async def list_knowledge_bases(self, name: str | None, skip: int, limit: int) -> KnowledgeBasePage:
        """Return a page of knowledge bases whose name contains `name`."""
        found, total = await self._knowledge_bases(name, skip=skip, limit=limit)
        names = await tag_names(self._api)
        summaries = [
            KnowledgeBaseSummary.of(item, [names.get(tag_id, tag_id) for tag_id in item.tag_ids]) for item in found
        ]
        return KnowledgeBasePage(knowledge_bases=summaries, total_count=total, skip=skip)

    async def list_documents(
        self, name: str | None, tags: Sequence[str], parent_id: str | None, *, skip: int, limit: int
    ) -> DocumentPage:
        """Return a page of documents by a part of the name, tags that all must have, and the parent."""
        names = await tag_names(self._api)
        tag_ids = [_tag_id(names, tag) for tag in tags]
        query = {
            "name_search": name, "tag_ids": ",".join(tag_ids) or None, "parent_id": parent_id,
            "skip": skip, "limit": limit,
        }  # fmt: skip
        answer = _OBJECT.validate_json(await self._api.get("/documents", **query))
        documents = [Document.model_validate(item) for item in answer["documents"]]
        summaries = [
            DocumentSummary.of(item, [names.get(tag_id, tag_id) for tag_id in item.tag_ids]) for item in documents
        ]
        return DocumentPage(documents=summaries, total_count=answer["total_count"], skip=skip)

    async def read_document(self, document_id: str, first_page: int, page_count: int, offset: int) -> ReadDocument:
        """Return pages of a document's text, up to the limit of one answer."""
        path = f"/documents/{_segment(document_id, 'document_id')}"
        answer = await self._api.get(f"{path}/text", skip=first_page - 1, limit=page_count)
        text = DocumentText.model_validate_json(answer)
        if not text.pages:
            document = Document.model_validate_json(await self._api.get(path))
            if document.state != "extracted":
                reason = document.error.detail if document.error else "ask again in a moment"
                raise NotFoundError(
                    f"The text of {document.document_name!r} is not available: {document.state}. {reason}"
                )
            if text.page_count:
                raise InvalidInputError.of_field(
                    "first_page", f"The document has {text.page_count} pages. Ask for one of them."
                )
        return read(text, offset=offset)

    async def upload_document(
        self,
        name: str,
        content: bytes,
        tags: Sequence[str],
        metadata: Mapping[str, JsonValue] | None,
        on_duplicate: DuplicatePolicy,
        external_identity: ExternalIdentity | None = None,
        source_url: str | None = None,
    ) -> Uploaded:
        """Upload one file; create missing tags."""
        document: dict[str, Any] = {"name": name, "content": base64.b64encode(content).decode()}
        if tags:
            document["tag_ids"] = [await self._ensured_tag(tag) for tag in dict.fromkeys(tags)]
        if metadata is not None:
            document["metadata"] = dict(metadata)
        if external_identity is not None:
            document["external_identity"] = external_identity.model_dump()
        if source_url is not None:
            document["source_url"] = source_url
        body = {"documents": [document], "on_duplicate": on_duplicate.value}
        answer = UploadAnswer.model_validate_json(await self._api.post("/documents", body))
        uploaded = answer.documents[0]
        if uploaded.document is None:
            raise InvalidInputError(uploaded.error.detail if uploaded.error else "The file was refused.")
        return Uploaded(
            document_id=uploaded.document.document_id,
            document_name=uploaded.document.document_name,
            outcome=uploaded.outcome,
            state=uploaded.document.state,
            note="it can be found in its knowledge bases within seconds"
            if uploaded.outcome != "returned"
            else "the same file was there already; nothing was changed",
        )

    async def _named(self, name_or_id: str) -> KnowledgeBase:
        found, total = await self._knowledge_bases(None, skip=0, limit=PAGE_SIZE)
        matching = [item for item in found if name_or_id in (item.name, item.kb_id)]
        if not matching and total > len(found):
            found, _ = await self._knowledge_bases(name_or_id, skip=0, limit=PAGE_SIZE)
            matching = [item for item in found if item.name == name_or_id]
        if len(matching) == 1:
            return matching[0]
        if matching:
            ids = ", ".join(item.kb_id for item in matching)
            raise InvalidInputError.of_field("knowledge_base", f"Several have this name. Name one by its id: {ids}.")
        if total > len(found):
            answer = await self._api.get(f"/knowledge-bases/{_segment(name_or_id, 'knowledge_base')}")
            return KnowledgeBase.model_validate_json(answer)
        known = ", ".join(repr(item.name) for item in found[:MOST_KNOWLEDGE_BASES])
        raise NotFoundError(f"No knowledge base has the name or id {name_or_id!r}. Known ones: {known or 'none yet'}.")

    async def _knowledge_bases(self, name: str | None, *, skip: int, limit: int) -> tuple[list[KnowledgeBase], int]:
        answer = _OBJECT.validate_json(
            await self._api.get("/knowledge-bases", name_search=name, skip=skip, limit=limit)
        )
        return [KnowledgeBase.model_validate(item) for item in answer["knowledge_bases"]], answer["total_count"]

    async def _ensured_tag(self, name: str) -> str:
        wanted = name.strip()
        known = {other: tag_id for tag_id, other in (await tag_names(self._api)).items()}
        if wanted in known:
            return known[wanted]
        try:
            return Tag.model_validate_json(await self._api.post("/tags", {"name": wanted})).tag_id
        except ProblemError as error:
            if error.status != 409:
                raise
            # Another caller created it a moment ago.
            return _tag_id(await tag_names(self._api), wanted)


def decoded(text: str | None, base64_content: str | None) -> bytes:
    """Decode a file given as text or base64.

    Raises:
        InvalidInputError: neither or both are given, or it is not base64.
    """
    if (text is None) == (base64_content is None):
        raise InvalidInputError.of_field("text", "Give either text, or content_base64 for a binary file.")
    if text is not None:
        return text.encode()
    try:
        return base64.b64decode(base64_content or "", validate=True)
    except binascii.Error as error:
        raise InvalidInputError.of_field(
            "content_base64", "The content is not base64. Encode the file's bytes as base64."
        ) from error


def _tag_id(names: Mapping[str, str], tag: str) -> str:
    for tag_id, name in names.items():
        if tag in (name, tag_id):
            return tag_id
    raise NotFoundError(f"No tag has the name {tag!r}. Create it, or use another.")


def _segment(value: str, field: str) -> str:
    """Check an id given by a model, so that it cannot reach another route."""
    if not value.isalnum() or not value.isascii():
        raise InvalidInputError.of_field(field, "Ids have 24 hex digits. Find them by listing.")
    return value
