"""Objects of Google Drive's API, version 3, as far as they are read."""

from pydantic import Field, JsonValue

from analytiq.ingestion.sources.connections.wire import WireModel


class Capabilities(WireModel):
    """Rights of the account to a file."""

    can_download: bool = Field(default=True, alias="canDownload")


class Permission(WireModel):
    """A permission to read a file."""

    type: str = ""
    email: str | None = Field(default=None, alias="emailAddress")
    domain: str | None = None
    deleted: bool = False


class DriveFile(WireModel):
    """A file or a folder."""

    id: str
    name: str = ""
    mime_type: str = Field(default="", alias="mimeType")
    parents: list[str] = Field(default_factory=list[str])
    size: int | None = None
    md5: str | None = Field(default=None, alias="md5Checksum")
    modified: str | None = Field(default=None, alias="modifiedTime")
    web_url: str | None = Field(default=None, alias="webViewLink")
    trashed: bool = False
    capabilities: Capabilities = Capabilities()
    permissions: list[Permission] | None = None


class FilePage(WireModel):
    """A page of files."""

    files: list[JsonValue] = Field(default_factory=list[JsonValue])
    next_token: str | None = Field(default=None, alias="nextPageToken")
    is_incomplete: bool = Field(default=False, alias="incompleteSearch")


class Change(WireModel):
    """A change of a file, or of a shared drive."""

    file_id: str | None = Field(default=None, alias="fileId")
    removed: bool = False
    file: DriveFile | None = None


class ChangePage(WireModel):
    """A page of changes."""

    changes: list[JsonValue] = Field(default_factory=list[JsonValue])
    next_token: str | None = Field(default=None, alias="nextPageToken")
    new_start: str | None = Field(default=None, alias="newStartPageToken")


class StartToken(WireModel):
    """The position of the changes that come."""

    token: str = Field(alias="startPageToken")
