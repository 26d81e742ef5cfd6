"""Values of the API that calls name."""

from enum import StrEnum

from analytiq.client.answers import Answer

BULK_FILES = 20
"""A call with more files is in bulk: single uploads go before them."""


class DuplicatePolicy(StrEnum):
    """The treatment of an upload whose bytes the organization already has under the same name."""

    RETURN = "return"
    CREATE = "create"
    REPLACE = "replace"


class FieldType(StrEnum):
    """Types of declared metadata fields."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"


class MisfitPolicy(StrEnum):
    """The treatment of stored values that do not fit a declaration."""

    REFUSE = "refuse"
    REMOVE = "remove"


class ExternalIdentity(Answer):
    """The item of another system that a document copies.

    `source` and `external_id` name one document of an organization, whatever its name and bytes. `version` is opaque,
    such as an ETag or a revision: only equality counts.
    """

    source: str
    external_id: str
    version: str | None = None
