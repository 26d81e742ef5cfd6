"""Details: the fields of their documents that results show, as the caller chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.models.document import Document, DocumentDetails, Member
from analytiq.storage.all_repositories import Repositories

TAGS = "tags"
METADATA = "metadata"
_ONE_FIELD = "metadata."
LABEL = "label"
"""The metadata key that the check of every hit reads."""
SMALL = (TAGS, _ONE_FIELD + LABEL)
"""The details of a result by default: other metadata may be large."""


@dataclass(frozen=True, slots=True)
class WantedDetails:
    """The chosen details; `fields` None: all metadata."""

    tags: bool
    fields: frozenset[str] | None

    @classmethod
    def of(cls, include: Sequence[str]) -> "WantedDetails":
        """Read a choice such as `["tags", "metadata.customer"]`.

        Raises:
            InvalidInputError: names the unknown detail.
        """
        fields: set[str] = set()
        for name in include:
            if name.startswith(_ONE_FIELD) and name != _ONE_FIELD:
                fields.add(name.removeprefix(_ONE_FIELD))
            elif name not in (TAGS, METADATA):
                raise InvalidInputError.of_field(
                    "include", f"Unknown detail {name[:100]!r}. Allowed: tags, metadata, metadata.<key>."
                )
        return cls(TAGS in include, None if METADATA in include else frozenset(fields))

    @property
    def label(self) -> bool:
        """True if the label is chosen."""
        return self.fields is None or LABEL in self.fields

    @property
    def further_metadata(self) -> bool:
        """True if metadata is chosen that the check of the hits has not read."""
        return self.fields is None or bool(self.fields - {LABEL})

    def metadata_of(self, document: Document) -> Mapping[str, JsonValue]:
        """Return the chosen metadata of a document."""
        if self.fields is None:
            return document.metadata
        return {name: value for name, value in document.metadata.items() if name in self.fields}


class Details:
    """Reader of the details of documents."""

    def __init__(self, repositories: Repositories) -> None:
        self._documents = repositories.document_survey

    async def of(
        self,
        organization_id: str,
        members: Mapping[str, Member],
        tag_names: Mapping[str, str],
        wanted: WantedDetails,
    ) -> dict[str, DocumentDetails]:
        """Return the details by document id.

        Metadata beside the label, which may be large, is read now; deleted documents have none.
        """
        names = tag_names if wanted.tags else dict[str, str]()
        metadata = await self._metadata(organization_id, members, wanted)
        return {
            document_id: DocumentDetails(
                source_url=member.source_url,
                tags=tuple(names[tag_id] for tag_id in member.tag_ids if tag_id in names),
                metadata=metadata.get(document_id, {}),
            )
            for document_id, member in members.items()
        }

    async def _metadata(
        self, organization_id: str, members: Mapping[str, Member], wanted: WantedDetails
    ) -> dict[str, Mapping[str, JsonValue]]:
        if not wanted.further_metadata:
            labelled = {id_: member for id_, member in members.items() if wanted.label and member.label is not None}
            return {id_: {LABEL: member.label} for id_, member in labelled.items()}
        documents = await self._documents.of_ids(organization_id, list(members))
        return {document.id: wanted.metadata_of(document) for document in documents.values()}
