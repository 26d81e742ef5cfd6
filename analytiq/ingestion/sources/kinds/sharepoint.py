"""Files in document libraries of a SharePoint site."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import ClassVar

from pydantic import Field, field_validator

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import KindSchema, SourceContext
from analytiq.ingestion.sources.systems.microsoft.connector import DriveConnector
from analytiq.ingestion.sources.systems.microsoft.graph import MicrosoftSettings, no_drive, site_address
from analytiq.ingestion.sources.systems.microsoft.wire import Drive


class SharePointSettings(MicrosoftSettings):
    """The settings of a site."""

    site: str = Field(
        max_length=500, title="Site", description="Address, such as https://example.sharepoint.com/sites/team"
    )
    libraries: tuple[str, ...] = Field(
        default=("*",), max_length=100, title="Libraries", description="Names of document libraries; * is a wildcard"
    )

    @field_validator("site")
    @classmethod
    def _is_address(cls, site: str) -> str:
        return site_address(site)


class SharePointConnector(DriveConnector):
    """The document libraries of a site."""

    title: ClassVar[str] = "SharePoint"
    description: ClassVar[str] = "Files in the document libraries of a SharePoint site."
    settings_schema: ClassVar[type[KindSchema]] = SharePointSettings

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = SharePointSettings.model_validate(settings, from_attributes=True)
        super().__init__(self._settings, credentials, context, names_drives=True)

    async def drives(self) -> Sequence[Drive]:
        """See DriveConnector."""
        try:
            found = await self.graph.libraries(self._settings.site)
        except NotFoundError:
            raise no_drive("settings.site", "There is no such site, or the application may not see it.") from None
        patterns = self._settings.libraries
        chosen = [drive for drive in found if any(fnmatchcase(drive.name, pattern) for pattern in patterns)]
        if not chosen:
            names = ", ".join(drive.name for drive in found[:10])
            raise no_drive("settings.libraries", f"The site has no library of such a name. It has: {names}.")
        return chosen
