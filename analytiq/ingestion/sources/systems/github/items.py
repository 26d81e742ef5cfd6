"""Items of GitHub: issues, pull requests and files, with their ids and pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from analytiq.ingestion.sources.base import ItemAccess, ListedItem
from analytiq.ingestion.sources.systems.github.wire import Comment, Entry, Issue, Repository
from analytiq.ingestion.sources.texts.conversation import Contribution, checked_name, conversation_page
from analytiq.ingestion.sources.texts.wording import one_line, segment_of

_ID = re.compile(r"(?P<repository>\d{1,18}):(?:issue:(?P<number>\d{1,12})|file:(?P<path>.+))", re.DOTALL)
_VERDICTS = {"APPROVED": "approved", "CHANGES_REQUESTED": "requested changes", "DISMISSED": "dismissed review"}


@dataclass(frozen=True, slots=True)
class ItemId:
    """The parts of an external id: the repository's, and a number or a path."""

    repository: int
    number: int | None = None
    path: str | None = None

    @classmethod
    def parsed(cls, external_id: str) -> "ItemId | None":
        """Return the parts; None if it is no id of an item."""
        found = _ID.fullmatch(external_id)
        if found is None:
            return None
        number, path = found["number"], found["path"]
        if path is not None and any(part in ("", ".", "..") or "\0" in part for part in path.split("/")):
            return None
        return cls(int(found["repository"]), int(number) if number else None, path)


@dataclass(frozen=True, slots=True)
class RepositoryItems:
    """Makes the items of one repository."""

    repository: Repository
    access: ItemAccess | None
    branch: str | None

    def issue(self, issue: Issue) -> ListedItem:
        """Return the item of an issue or pull request."""
        folder = "pull requests" if issue.is_pull_request else "issues"
        title = segment_of(f"{issue.number} {issue.title}", most=120)
        name, reason = checked_name(f"{self.repository.full_name}/{folder}/{title}.md")
        return ListedItem(
            external_id=f"{self.repository.id}:issue:{issue.number}",
            name=name,
            version=f"{issue.updated_at.isoformat()}:{issue.comments}",
            source_url=_web_address(issue.html_url),
            fields={
                "repository": self.repository.full_name,
                "kind": "pull request" if issue.is_pull_request else "issue",
                "number": issue.number,
                "title": one_line(issue.title),
                "state": issue.state,
                "author": issue.author,
                "labels": ", ".join(issue.label_names),
            },
            skip_reason=reason,
            access=self.access,
        )

    def file_id(self, path: str) -> str:
        """Return the external id of a file."""
        return f"{self.repository.id}:file:{path}"

    def file(self, entry: Entry) -> ListedItem:
        """Return the item of a file."""
        name, reason = checked_name(f"{self.repository.full_name}/{entry.path}")
        branch = self.branch or self.repository.default_branch
        address = f"{self.repository.html_url}/blob/{quote(branch)}/{quote(entry.path)}"
        return ListedItem(
            external_id=self.file_id(entry.path),
            name=name,
            version=entry.sha,
            byte_size=entry.size,
            source_url=_web_address(address),
            fields={"repository": self.repository.full_name, "kind": "file", "path": entry.path},
            skip_reason=reason or ("The file is empty." if entry.size == 0 else None),
            access=self.access,
        )


def issue_page(repository: Repository, issue: Issue, comments: Sequence[Comment]) -> str:
    """Return an issue or pull request with its comments and reviews as Markdown."""
    kind = "Pull request" if issue.is_pull_request else "Issue"
    began = f"by {issue.author}, {_time(issue.created_at)}"
    facts = [f"{kind} #{issue.number} of {repository.full_name}, {issue.state}, {began}."]
    if issue.labels:
        facts.append(f"Labels: {', '.join(issue.label_names)}.")
    answers = [
        Contribution(_heading(comment), _text(comment))
        for comment in comments
        if (comment.body or "").strip() or comment.state in _VERDICTS
    ]
    return conversation_page(issue.title, facts, issue.body or "", answers)


def _heading(comment: Comment) -> str:
    verdict = _VERDICTS.get(comment.state)
    place = f" on {comment.path}" if comment.path else ""
    return f"{comment.author}{place}, {_time(comment.time)}{f' ({verdict})' if verdict else ''}"


def _text(comment: Comment) -> str:
    body = comment.body or ""
    hunk = comment.diff_hunk.replace("```", "'''")[-2000:]
    return f"```diff\n{hunk}\n```\n\n{body}" if hunk else body


def _time(told: str) -> str:
    """Return a time for people."""
    return one_line(told, most=30).replace("T", " ").removesuffix("Z")[:16]


def _web_address(address: str) -> str | None:
    is_web = address.startswith(("https://", "http://")) and len(address) < 2000
    return address if is_web and not any(each.isspace() or each in '<>"\\' for each in address) else None
