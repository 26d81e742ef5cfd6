"""The maker of an access token or an invitation: whoever answers for what it allows."""

from enum import StrEnum

from analytiq.models.stored import Stored


class MakerKind(StrEnum):
    """The kind of maker."""

    USER = "user"
    TOKEN = "token"  # noqa: S105  # a kind
    OPERATOR = "operator"
    """The command line, in the database itself."""


class Maker(Stored):
    """Whoever made a token or an invitation, or took it over; `name` as it was then.

    `member_id` is the membership of a person at that time. A later membership of the same person is another one.
    """

    kind: MakerKind
    id: str | None = None
    name: str
    member_id: str | None = None


OPERATOR = Maker(kind=MakerKind.OPERATOR, name="the command line")
