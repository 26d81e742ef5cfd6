"""Items of GitLab: issues, merge requests, pages of wikis and files, with their ids and pages."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import JsonValue

from analytiq.ingestion.sources.base import ItemAccess, ListedItem
from analytiq.ingestion.sources.systems.gitlab.wire import Entry, Issue, Note, Project, WikiPage
from analytiq.ingestion.sources.texts.conversation import Contribution, checked_name, conversation_page
from analytiq.ingestion.sources.texts.wording import one_line, plain, segment_of

_ID = re.compile(
    r"(?P<project>\d{1,18}):(?:(?P<part>issues|merge_requests):(?P<iid>\d{1,12})|(?P<text>wiki|file):(?P<path>.+))",
    re.DOTALL,
)
_KINDS = {"issues": "issue", "merge_requests": "merge request"}


@dataclass(frozen=True, slots=True)
class ItemId:
    """The parts of an external id: the project's, the part of it, and a number or a path."""

    project: int
    part: str
    iid: int = 0
    path: str = ""

    @classmethod
    def parsed(cls, external_id: str) -> "ItemId | None":
        """Return the parts; None if it is no id of an item."""
        found = _ID.fullmatch(external_id)
        if found is None:
            return None
        path = found["path"] or ""
        if path and any(part in ("", ".", "..") or "\0" in part for part in path.split("/")):
            return None
        return cls(int(found["project"]), found["part"] or found["text"], int(found["iid"] or 0), path)


@dataclass(frozen=True, slots=True)
class ProjectItems:
    """Makes the items of one project."""

    project: Project
    access: ItemAccess | None
    branch: str | None

    def issue(self, part: str, issue: Issue) -> ListedItem:
        """Return the item of an issue or merge request; a confidential one has no readers that GitLab names."""
        kind = _KINDS[part]
        name, reason = checked_name(
            f"{self.project.path_with_namespace}/{kind}s/{segment_of(f'{issue.iid} {issue.title}', most=120)}.md"
        )
        return ListedItem(
            external_id=f"{self.project.id}:{part}:{issue.iid}",
            name=name,
            version=f"{issue.updated_at.isoformat()}:{issue.user_notes_count}",
            source_url=_web_address(issue.web_url),
            fields={
                **self._fields(kind),
                "number": issue.iid,
                "title": one_line(issue.title),
                "state": issue.state,
                "author": issue.author.username if issue.author else "ghost",
                "labels": ", ".join(issue.labels),
            },
            skip_reason=reason,
            access=None if issue.confidential else self.access,
        )

    def wiki_page(self, page: WikiPage) -> ListedItem:
        """Return the item of a page of the wiki."""
        ending = {"markdown": "md", "asciidoc": "adoc", "rdoc": "rdoc", "org": "org"}.get(page.format, "txt")
        path = "/".join(segment_of(part, most=150) for part in page.slug.split("/"))
        name, reason = checked_name(f"{self.project.path_with_namespace}/wiki/{path}.{ending}")
        text = wiki_text(page)
        return ListedItem(
            external_id=f"{self.project.id}:wiki:{page.slug}",
            name=name,
            version=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32],
            byte_size=len(text.encode("utf-8", "replace")),
            source_url=_web_address(f"{self.project.web_url}/-/wikis/{quote(page.slug)}"),
            fields={**self._fields("wiki page"), "title": one_line(page.title)},
            skip_reason=reason,
            access=self.access,
        )

    def file_id(self, path: str) -> str:
        """Return the external id of a file."""
        return f"{self.project.id}:file:{path}"

    def file(self, entry: Entry) -> ListedItem:
        """Return the item of a file."""
        name, reason = checked_name(f"{self.project.path_with_namespace}/{entry.path}")
        branch = self.branch or self.project.default_branch or ""
        return ListedItem(
            external_id=self.file_id(entry.path),
            name=name,
            version=entry.id,
            source_url=_web_address(f"{self.project.web_url}/-/blob/{quote(branch)}/{quote(entry.path)}"),
            fields={**self._fields("file"), "path": entry.path},
            skip_reason=reason,
            access=self.access,
        )

    def _fields(self, kind: str) -> dict[str, JsonValue]:
        return {"project": self.project.path_with_namespace, "kind": kind}


def issue_page(project: Project, part: str, issue: Issue, notes: Sequence[Note]) -> str:
    """Return an issue or merge request with its comments as Markdown. Internal notes are left out."""
    sign = "#" if part == "issues" else "!"
    author = issue.author.username if issue.author else "ghost"
    began = f"by {author}, {_time(issue.created_at)}"
    kind = _KINDS[part].capitalize()
    facts = [f"{kind} {sign}{issue.iid} of {project.path_with_namespace}, {issue.state}, {began}."]
    if issue.labels:
        facts.append(f"Labels: {', '.join(issue.labels)}.")
    answers = [
        Contribution(_heading(note), note.body or "")
        for note in notes
        if (note.body or "").strip() and not (note.internal or note.confidential)
    ]
    return conversation_page(issue.title, facts, issue.description or "", answers)


def wiki_text(page: WikiPage) -> str:
    """Return the text of a page of a wiki, with its title where it is Markdown."""
    content = page.content or ""
    return f"# {plain(one_line(page.title))}\n\n{content}" if page.format == "markdown" and page.title else content


def _heading(note: Note) -> str:
    path = (note.position.new_path or note.position.old_path) if note.position else None
    author = note.author.username if note.author else "ghost"
    return f"{author}{f' on {path}' if path else ''}, {_time(note.created_at)}"


def _time(told: str) -> str:
    return one_line(told, most=30).replace("T", " ")[:16]


def _web_address(address: str) -> str | None:
    is_web = address.startswith(("https://", "http://")) and len(address) < 2000
    return address if is_web and not any(each.isspace() or each in '<>"\\' for each in address) else None
