"""Tags, which tie documents to knowledge bases."""

from datetime import datetime

from analytiq.models.stored import Stored


class Tag(Stored):
    """A label of an organization; its name is unique there."""

    id: str
    organization_id: str
    name: str
    color: str
    description: str
    created_at: datetime
    updated_at: datetime
