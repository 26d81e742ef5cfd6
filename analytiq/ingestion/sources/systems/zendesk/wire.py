"""Objects of Zendesk's APIs, as far as they are read here."""

from collections.abc import Sequence

from pydantic import Field

from analytiq.ingestion.sources.connections.wire import WireModel

LOCALE = r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$"


class Article(WireModel):
    """An article, as it is in one language."""

    id: int
    title: str | None = None
    name: str | None = None
    body: str | None = None
    locale: str = ""
    draft: bool = False
    section_id: int | None = None
    user_segment_id: int | None = None
    user_segment_ids: tuple[int, ...] | None = None
    label_names: tuple[str, ...] = ()
    html_url: str = ""
    updated_at: str = ""

    @property
    def shown_title(self) -> str:
        """Return the title."""
        return self.title or self.name or "Untitled"

    @property
    def segments(self) -> Sequence[int]:
        """Return the ids of the user segments that may read the article; empty: everybody."""
        if self.user_segment_ids:
            return self.user_segment_ids
        return (self.user_segment_id,) if self.user_segment_id is not None else ()


class Section(WireModel):
    """A section of the help center, or a category."""

    id: int
    name: str = ""
    category_id: int | None = None
    parent_section_id: int | None = None


class Segment(WireModel):
    """People who may read an article."""

    id: int
    name: str = ""
    user_type: str = ""
    group_ids: tuple[int, ...] | None = None
    organization_ids: tuple[int, ...] | None = None
    tags: tuple[str, ...] | None = None
    or_tags: tuple[str, ...] | None = None
    added_user_ids: tuple[int, ...] | None = None

    @property
    def is_everybody_signed_in(self) -> bool:
        """Return True if everybody with an account belongs to it."""
        limits = (self.group_ids, self.organization_ids, self.tags, self.or_tags)
        return self.user_type == "signed_in_users" and not any(limits)


class User(WireModel):
    """A customer or agent."""

    id: int
    name: str = ""
    email: str | None = None


class Ticket(WireModel):
    """A ticket."""

    id: int
    subject: str | None = None
    raw_subject: str | None = None
    status: str = ""
    priority: str | None = None
    type: str | None = None
    requester_id: int | None = None
    assignee_id: int | None = None
    collaborator_ids: tuple[int, ...] = ()
    group_id: int | None = None
    tags: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""
    generated_timestamp: int = 0
    is_public: bool = True

    @property
    def title(self) -> str:
        """Return the subject. The description may be private."""
        return self.subject or self.raw_subject or f"Ticket {self.id}"

    @property
    def people(self) -> list[int]:
        """Return the ids of the people who take part."""
        ids = (self.requester_id, self.assignee_id, *self.collaborator_ids)
        return list(dict.fromkeys(each for each in ids if each is not None))


class TicketFile(WireModel):
    """A file of a comment."""

    file_name: str = ""


class Comment(WireModel):
    """A comment of a ticket; the first is its description."""

    id: int = 0
    author_id: int | None = None
    html_body: str | None = None
    plain_body: str | None = None
    body: str | None = None
    public: bool = False
    created_at: str = ""
    attachments: tuple[TicketFile, ...] = ()


class Meta(WireModel):
    """The position of a page."""

    has_more: bool = False
    after_cursor: str | None = None


class Paged(WireModel):
    """The frame of a page."""

    meta: Meta = Meta()


class Export(WireModel):
    """The frame of a page of an incremental export."""

    after_cursor: str | None = None
    end_of_stream: bool = False


class Locales(WireModel):
    """The languages of a help center."""

    locales: tuple[str, ...] = Field(default=(), max_length=200)
