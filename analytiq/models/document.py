"""Documents: the uploaded file, its tags, and its extracted text."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.flaws import FlawCount, FlawKind
from analytiq.models.page_reading import PageReading
from analytiq.models.stored import Stored


class DocumentState(StrEnum):
    """The state of extraction; each knowledge base has its own state of indexing."""

    UPLOADED = "uploaded"
    EXTRACTING = "extracting"
    EXTRACTED = "extracted"
    FAILED = "failed"


class Failure(Stored):
    """A failure: a stable code, a sentence for the owner, and the time; `stack` is shown only with its job."""

    code: str
    detail: str
    at: datetime
    stack: str | None = None

    def for_owner(self) -> "Failure":
        """Return the failure without its details for operators."""
        return self.model_copy(update={"stack": None})


class ExternalIdentity(Stored):
    """The item of another system that a document copies.

    `source` and `external_id` name one document of an organization, whatever its name and bytes. `version` is opaque,
    such as an ETag or a revision: only equality counts.
    """

    source: str
    external_id: str
    version: str | None = None


class PartOf(Stored):
    """The place of a document that was found in another one: an archive, or an e-mail or PDF with attachments."""

    parent_id: str
    """Its container, a document too."""
    path: str
    """Path within the container, unique there."""
    container_ids: tuple[str, ...]
    """The containers from the outermost to the parent."""


class Document(Stored):
    """A row of `docs`.

    `text_id` names the current extracted text. It stays while a newer text is extracted, so that searches find a
    replaced or re-extracted document by its old text until the new one is ready. Every commit that relies on this row
    increments `rev`, so that a concurrent delete or tag edit conflicts.
    """

    id: str
    organization_id: str
    document_name: str
    """Name with the folders of the upload: `contracts/2024/acme.pdf`."""
    origin: str | None = None
    """Directory and machine that the document was ingested from; None for other uploads."""
    identity: str
    """Key of the same document: a hash of the external identity or the place in a container if there is one, else of
    name and bytes."""
    external_identity: ExternalIdentity | None = None
    part_of: PartOf | None = None
    """None for documents that were uploaded by themselves."""
    source_url: str | None = None
    """Web address of the original, as its uploader gave it."""
    sha256: str
    byte_size: int
    content_type: str
    file_id: str
    state: DocumentState
    error: Failure | None = None
    warnings: tuple[str, ...] = ()
    flaws: tuple[FlawCount, ...] = ()
    """Of the current text, a count for each kind; none for a text extracted by an older release."""
    tag_ids: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    text_id: str | None = None
    text_hash: str | None = None
    page_count: int | None = None
    character_count: int | None = None
    has_tables: bool = False
    """True if its text has a table that names its columns; False too for a text extracted by an older release."""
    read_pages: PageReading = PageReading.AUTO
    """Of a PDF; holds for every extraction, also of the next version of its file."""
    password: str | None = Field(default=None, repr=False)
    """Of the encrypted file, encrypted under the installation's secret key; it has opened the file."""
    offered_password: str | None = Field(default=None, repr=False)
    """Likewise, but not tried yet."""
    rev: int = 0
    created_at: datetime
    updated_at: datetime

    @property
    def parent_id(self) -> str | None:
        """Return the id of the document in which this one was found."""
        return None if self.part_of is None else self.part_of.parent_id

    @property
    def path_in_parent(self) -> str | None:
        """Return the path in that document."""
        return None if self.part_of is None else self.part_of.path

    def flaw_kinds_among(self, kinds: Collection[FlawKind]) -> tuple[FlawKind, ...]:
        """Return the kinds among these that the document's text has, sorted."""
        return tuple(sorted(count.kind for count in self.flaws if count.kind in kinds and count.word_count))


@dataclass(frozen=True, slots=True)
class Member:
    """The fields of a member of a knowledge base that a search needs of every hit's document."""

    document_name: str
    source_url: str | None = None
    tag_ids: tuple[str, ...] = ()
    label: JsonValue = None
    """The metadata `label`, which pairs and intents have; None for none."""


@dataclass(frozen=True, slots=True)
class DocumentDetails:
    """The fields of a document that its search results show."""

    source_url: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
