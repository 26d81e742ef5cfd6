"""Objects of GitLab's REST API, as far as they are read here."""

from datetime import datetime

from analytiq.ingestion.sources.connections.wire import WireModel

FILE_MODES = ("100644", "100755")


class Person(WireModel):
    """A user or bot."""

    username: str = "ghost"


class Project(WireModel):
    """A project."""

    id: int
    path_with_namespace: str
    visibility: str = "private"
    default_branch: str | None = None
    web_url: str = ""
    archived: bool = False
    issues_access_level: str = ""
    merge_requests_access_level: str = ""
    wiki_access_level: str = ""
    repository_access_level: str = ""

    def has(self, part: str) -> bool:
        """Return True unless a part is switched off: `issues`, `merge_requests`, `wiki` or `file`."""
        levels = {
            "issues": self.issues_access_level,
            "merge_requests": self.merge_requests_access_level,
            "wiki": self.wiki_access_level,
            "file": self.repository_access_level,
        }
        return levels[part] != "disabled"


class Issue(WireModel):
    """An issue or a merge request."""

    iid: int
    title: str = ""
    description: str | None = None
    state: str = ""
    author: Person | None = None
    labels: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: datetime
    user_notes_count: int = 0
    web_url: str = ""
    confidential: bool = False


class Place(WireModel):
    """The lines of a comment on a difference."""

    new_path: str | None = None
    old_path: str | None = None


class Note(WireModel):
    """A comment, or a notice of the system."""

    author: Person | None = None
    body: str | None = None
    created_at: str = ""
    system: bool = False
    internal: bool | None = False
    confidential: bool | None = False
    position: Place | None = None


class WikiPage(WireModel):
    """A page of a wiki."""

    slug: str
    title: str = ""
    format: str = "markdown"
    content: str | None = None


class Entry(WireModel):
    """A file or folder of a commit; `id` is the hash of its content."""

    id: str
    path: str
    type: str = "blob"
    mode: str = "100644"


class File(WireModel):
    """A file by its path."""

    blob_id: str
    file_path: str


class Difference(WireModel):
    """A file that differs between two commits."""

    new_path: str = ""
    old_path: str = ""


class Comparison(WireModel):
    """The difference of two commits."""

    diffs: tuple[Difference, ...] = ()
    compare_timeout: bool = False
    overflow: bool = False
