"""Objects of Microsoft Graph, as far as they are read."""

from pydantic import Field, JsonValue

from analytiq.ingestion.sources.connections.wire import WireModel


class Identified(WireModel):
    """A reference by id."""

    id: str | None = None
    path: str | None = None


class FileFacet(WireModel):
    """Fields of a file that a folder lacks."""

    mime_type: str | None = Field(default=None, alias="mimeType")


class DriveItem(WireModel):
    """A file, a folder or another thing of a drive."""

    id: str
    name: str = ""
    size: int | None = None
    tag: str | None = Field(default=None, alias="cTag")
    """Changes with the content, and not with the name."""
    web_url: str | None = Field(default=None, alias="webUrl")
    modified: str | None = Field(default=None, alias="lastModifiedDateTime")
    parent: Identified = Field(default=Identified(), alias="parentReference")
    file: FileFacet | None = None
    folder: JsonValue = None
    root: JsonValue = None
    deleted: JsonValue = None
    package: JsonValue = None
    """A OneNote notebook, which has no content."""
    malware: JsonValue = None


class Page(WireModel):
    """A page of a list."""

    value: list[JsonValue] = Field(default_factory=list[JsonValue])
    next_link: str | None = Field(default=None, alias="@odata.nextLink")
    delta_link: str | None = Field(default=None, alias="@odata.deltaLink")


class Drive(WireModel):
    """A drive: that of a person, or a document library."""

    id: str
    name: str = ""


class Person(WireModel):
    """A person or a group."""

    id: str | None = None
    email: str | None = None
    name: str | None = Field(default=None, alias="displayName")


class Grantee(WireModel):
    """One of a person and a group."""

    user: Person | None = None
    group: Person | None = None
    site_group: Person | None = Field(default=None, alias="siteGroup")


class SharingLink(WireModel):
    """A link that opens an item."""

    scope: str | None = None


class Permission(WireModel):
    """A permission to read an item."""

    granted_to: Grantee | None = Field(default=None, alias="grantedToV2")
    granted_to_many: list[Grantee] = Field(default_factory=list[Grantee], alias="grantedToIdentitiesV2")
    link: SharingLink | None = None
