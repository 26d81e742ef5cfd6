"""Objects of Dropbox's API, version 2, as far as they are read."""

from pydantic import Field, JsonValue

from analytiq.ingestion.sources.connections.wire import WireModel


class ExportInfo(WireModel):
    """The formats of a file that cannot be downloaded as it is."""

    export_as: str | None = None


class Entry(WireModel):
    """A file, a folder, or a deleted path, which has no id."""

    tag: str = Field(default="", alias=".tag")
    name: str = ""
    id: str | None = None
    path_lower: str | None = None
    path_display: str | None = None
    rev: str | None = None
    size: int | None = None
    content_hash: str | None = None
    server_modified: str | None = None
    is_downloadable: bool = True
    export_info: ExportInfo | None = None


class Listing(WireModel):
    """A page of a listing or of changes."""

    entries: list[JsonValue] = Field(default_factory=list[JsonValue])
    cursor: str
    has_more: bool = False


class Revisions(WireModel):
    """The versions of the file at a path, latest first."""

    is_deleted: bool = False
    entries: list[Entry] = Field(default_factory=list[Entry])
