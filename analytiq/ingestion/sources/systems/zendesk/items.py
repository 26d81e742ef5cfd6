"""Items of Zendesk: articles in each language, and tickets, with their ids and pages."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from analytiq.ingestion.sources.base import ItemAccess, ListedItem
from analytiq.ingestion.sources.systems.zendesk.wire import Article, Comment, Section, Segment, Ticket, User
from analytiq.ingestion.sources.texts.conversation import checked_name
from analytiq.ingestion.sources.texts.wording import LONGEST_TEXT, one_line, segment_of

_ID = re.compile(
    r"article:(?P<article>\d{1,18}):(?P<locale>[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3})|ticket:(?P<ticket>\d{1,18})"
)
DEEPEST = 10
"""Most sections within one another."""


@dataclass(frozen=True, slots=True)
class ItemId:
    """The parts of an external id: of an article in a language, or of a ticket."""

    article: int | None = None
    locale: str = ""
    ticket: int | None = None

    @classmethod
    def parsed(cls, external_id: str) -> "ItemId | None":
        """Return the parts; None if it is no id of an item."""
        found = _ID.fullmatch(external_id)
        if found is None:
            return None
        if found["ticket"]:
            return cls(ticket=int(found["ticket"]))
        return cls(int(found["article"]), found["locale"])


@dataclass(frozen=True, slots=True)
class HelpCenter:
    """The order of a help center in one language."""

    locale: str
    is_only_locale: bool
    sections: Mapping[int, Section] = field(default_factory=dict[int, Section])
    categories: Mapping[int, Section] = field(default_factory=dict[int, Section])
    segments: Mapping[int, Segment] = field(default_factory=dict[int, Segment])

    def item(self, article: Article) -> ListedItem:
        """Return the item of an article."""
        folders = self._folders(article)
        title = segment_of(article.shown_title, most=120)
        parts = ["articles", *([] if self.is_only_locale else [self.locale]), *map(segment_of, folders), title]
        name, reason = checked_name(f"{'/'.join(parts)}.html")
        content = article_page(article)
        return ListedItem(
            external_id=f"article:{article.id}:{self.locale}",
            name=name,
            version=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32],
            byte_size=len(content.encode("utf-8", "replace")),
            source_url=_web_address(article.html_url),
            fields={
                "kind": "article",
                "title": one_line(article.shown_title),
                "locale": self.locale,
                "category": one_line(folders[0]) if folders else "",
                "section": one_line(folders[-1]) if len(folders) > 1 else "",
                "labels": ", ".join(map(one_line, article.label_names)),
            },
            skip_reason=reason or (None if (article.body or "").strip() else "The article is empty."),
            access=self._access_of(article),
        )

    def _folders(self, article: Article) -> list[str]:
        """Return the names of category and sections, from the top."""
        names: list[str] = []
        section = self.sections.get(article.section_id or 0)
        category_id = section.category_id if section else None
        for _ in range(DEEPEST):
            if section is None:
                break
            names.insert(0, section.name)
            section = self.sections.get(section.parent_section_id or 0)
        category = self.categories.get(category_id or 0)
        return [*([category.name] if category else []), *names]

    def _access_of(self, article: Article) -> ItemAccess:
        groups: list[str] = []
        for segment_id in article.segments:
            segment = self.segments.get(segment_id)
            if segment is not None and segment.is_everybody_signed_in:
                return ItemAccess(is_public=True)
            groups.append(f"user_segment:{segment_id}")
            if segment is not None and segment.name:
                groups.append(one_line(segment.name))
        return ItemAccess(groups=tuple(groups)) if groups else ItemAccess(is_public=True)


def ticket_item(ticket: Ticket, users: Mapping[int, User], *, url: str, with_private: bool) -> ListedItem:
    """Return the item of a ticket."""
    name, reason = checked_name(f"tickets/{ticket.id} {segment_of(ticket.title, most=120)}.html")
    if not ticket.is_public and not with_private:
        name, reason = f"tickets/{ticket.id}.html", "Its comments are private."
    people = [user.email if (user := users.get(each)) and user.email else str(each) for each in ticket.people]
    is_shown = reason is None
    return ListedItem(
        external_id=f"ticket:{ticket.id}",
        name=name,
        version=f"{ticket.generated_timestamp}:{ticket.updated_at}",
        source_url=_web_address(f"{url.rstrip('/')}/agent/tickets/{ticket.id}"),
        fields={
            "kind": "ticket",
            "number": ticket.id,
            "title": one_line(ticket.title) if is_shown else "",
            "status": ticket.status,
            "priority": ticket.priority or "",
            "tags": ", ".join(map(one_line, ticket.tags)),
        },
        skip_reason=reason,
        access=ItemAccess(people=tuple(people), groups=(f"group:{ticket.group_id}",) if ticket.group_id else ()),
    )


def article_page(article: Article) -> str:
    """Return an article as HTML."""
    return _page(article.shown_title, [(article.body or "")[: LONGEST_TEXT * 10]])


def ticket_page(ticket: Ticket, comments: Sequence[Comment], users: Mapping[int, User]) -> str:
    """Return a ticket with these comments as HTML."""
    facts = f"Ticket {ticket.id}, {ticket.status}" + (f", priority {ticket.priority}" if ticket.priority else "") + "."
    parts = [f"<p>{escape(one_line(facts))}</p>"]
    for comment in comments:
        user = users.get(comment.author_id or 0)
        author = user.name if user else str(comment.author_id or "unknown")
        note = "" if comment.public else " (internal note)"
        parts.append(f"<h2>{escape(one_line(f'{author}, {_time(comment.created_at)}{note}'))}</h2>")
        text = comment.html_body or _paragraphs(comment.plain_body or comment.body or "")
        parts.append(f"<div>{text[:LONGEST_TEXT]}</div>")
        parts += [f"<p>File: {escape(one_line(file.file_name))}</p>" for file in comment.attachments[:100]]
    return _page(ticket.title, parts)


def _page(title: str, parts: Sequence[str]) -> str:
    shown = escape(one_line(title))
    body = "\n".join(parts)
    return (
        f"<!doctype html>\n<html><head><title>{shown}</title></head><body>\n<h1>{shown}</h1>\n{body}\n</body></html>\n"
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def _time(told: str) -> str:
    return one_line(told, most=30).replace("T", " ").removesuffix("Z")[:16]


def _web_address(address: str) -> str | None:
    is_web = address.startswith(("https://", "http://")) and len(address) < 2000
    return address if is_web and not any(each.isspace() or each in '<>"\\' for each in address) else None
