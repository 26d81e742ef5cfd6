"""Objects of GitHub's REST API, as far as they are read here."""

from datetime import UTC, datetime

from pydantic import JsonValue

from analytiq.ingestion.sources.connections.wire import WireModel

FILE_MODES = ("100644", "100755", "100664")


class Person(WireModel):
    """A user or bot."""

    login: str = "ghost"


class Label(WireModel):
    """A label of an issue."""

    name: str = ""


class Repository(WireModel):
    """A repository."""

    id: int
    full_name: str
    private: bool = True
    visibility: str = ""
    archived: bool = False
    disabled: bool = False
    default_branch: str = "main"
    html_url: str = ""

    @property
    def is_public(self) -> bool:
        """Return True if everybody may read the repository."""
        return not self.private and self.visibility in ("", "public")


class Issue(WireModel):
    """An issue or a pull request."""

    number: int
    title: str = ""
    body: str | None = None
    state: str = "open"
    user: Person | None = None
    labels: tuple[Label | str, ...] = ()
    created_at: str = ""
    updated_at: datetime
    comments: int = 0
    html_url: str = ""
    pull_request: JsonValue = None

    @property
    def label_names(self) -> list[str]:
        """Return the names of the labels."""
        return [label if isinstance(label, str) else label.name for label in self.labels]

    @property
    def author(self) -> str:
        """Return the author's login."""
        return self.user.login if self.user else "ghost"

    @property
    def is_pull_request(self) -> bool:
        """Return True if it is a pull request."""
        return self.pull_request is not None


class Comment(WireModel):
    """A comment on an issue, a review, or a comment on lines of a pull request."""

    user: Person | None = None
    body: str | None = None
    state: str = ""
    created_at: str = ""
    submitted_at: str = ""
    path: str = ""
    diff_hunk: str = ""

    @property
    def author(self) -> str:
        """Return the author's login."""
        return self.user.login if self.user else "ghost"

    @property
    def time(self) -> str:
        """Return when it was written."""
        return self.created_at or self.submitted_at


class Entry(WireModel):
    """A file or folder of a commit."""

    path: str
    mode: str = "100644"
    type: str = "blob"
    sha: str
    size: int | None = None


class Tree(WireModel):
    """The files of a commit."""

    sha: str = ""
    tree: JsonValue = None
    truncated: bool = False


class ChangedFile(WireModel):
    """A file that differs between two commits."""

    filename: str
    status: str = ""
    previous_filename: str | None = None


class Comparison(WireModel):
    """The difference of two commits."""

    status: str = ""
    files: tuple[ChangedFile, ...] = ()


class Content(WireModel):
    """A file by its path."""

    type: str = ""
    path: str = ""
    sha: str = ""
    size: int | None = None


def told(time: datetime) -> str:
    """Return a time as GitHub writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
