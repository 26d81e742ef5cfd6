"""The maker of an access token or an invitation, whose rights bound it."""

from enum import StrEnum

from analytiq.models.stored import Stored


class MakerKind(StrEnum):
    """The kind of maker."""

    USER = "user"
    TOKEN = "token"  # noqa: S105  # a kind
    OPERATOR = "operator"
    """The command line, in the database itself."""


class Maker(Stored):
    """The maker of a token or an invitation, or a later one; `name` as of then.

    `member_id` is the person's membership at that time. A later membership of the same person is another one.
    """

    kind: MakerKind
    id: str | None = None
    name: str
    member_id: str | None = None


OPERATOR = Maker(kind=MakerKind.OPERATOR, name="the command line")
