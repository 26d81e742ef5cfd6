"""Files of a person's OneDrive."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import KindSchema, SourceContext
from analytiq.ingestion.sources.systems.microsoft.connector import DriveConnector
from analytiq.ingestion.sources.systems.microsoft.graph import MicrosoftSettings, is_id, no_drive
from analytiq.ingestion.sources.systems.microsoft.wire import Drive


class OneDriveSettings(MicrosoftSettings):
    """The settings of a OneDrive."""

    user: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        pattern=r"^[^\s/?#\\]+$",
        title="User",
        description="Owner of the drive, such as ada@example.com. Empty: the person who signed in",
    )


class OneDriveConnector(DriveConnector):
    """The drive of a person."""

    title: ClassVar[str] = "OneDrive"
    description: ClassVar[str] = "Files of a person's OneDrive at Microsoft 365."
    settings_schema: ClassVar[type[KindSchema]] = OneDriveSettings

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = OneDriveSettings.model_validate(settings, from_attributes=True)
        super().__init__(self._settings, credentials, context, names_drives=False)

    async def drives(self) -> Sequence[Drive]:
        """See DriveConnector."""
        try:
            drive = await self.graph.drive_of(self._settings.user)
        except NotFoundError:
            raise no_drive("settings.user", "There is no such user, or the user has no drive.") from None
        if not is_id(drive.id):
            raise no_drive("settings.api_url", "The service names a drive with an id that is none.")
        return [drive]
