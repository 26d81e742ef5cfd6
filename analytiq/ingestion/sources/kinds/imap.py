"""Messages in mailboxes of an IMAP server, with their attachments."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import date
from fnmatch import fnmatchcase
from typing import ClassVar, Literal

from pydantic import Field, SecretStr, field_validator

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.oauth import AccessTokens, OAuthCredentials, SignInService
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.imap.connection import MailboxInfo, MailConnection, Server
from analytiq.ingestion.sources.systems.imap.listing import BATCH, MailListing
from analytiq.ingestion.sources.systems.imap.login import Login, wrong_login
from analytiq.ingestion.sources.systems.imap.messages import (
    LISTED_PARTS,
    MessageChoice,
    MessagePlace,
    criteria_of_id,
    listed,
    sorted_mailboxes,
)
from analytiq.ingestion.sources.systems.imap.sign_in import MailTokenRequests, SignInChoice, mail_sign_in

PIECE_BYTES = 1024 * 1024
"""Bytes of a message that are asked for at once."""
MOST_CANDIDATES = 1000
"""Most messages of a mailbox that are compared to find one by its id."""
_FLAG = re.compile(r"\\(?:seen|answered|flagged|deleted|draft)|[^\x00-\x20()\{%*\"\\\]\x7f-\U0010ffff]{1,100}")
_LEFT_OUT = frozenset({"\\trash", "\\junk", "\\drafts"})
_LEFT_OUT_NAMES = frozenset(
    {"trash", "junk", "spam", "drafts", "deleted items", "deleted messages", "junk email", "junk e-mail", "bulk mail"}
)


class ImapSettings(KindSchema):
    """The settings of mailboxes."""

    host: str = Field(
        min_length=1, max_length=253, title="Server", description="Host of the mail server, such as imap.example.com"
    )
    user: str = Field(min_length=1, max_length=320, title="User", description="Often the e-mail address")
    mailboxes: tuple[str, ...] = Field(
        default=("*",),
        max_length=100,
        title="Mailboxes",
        description="Names of mailboxes, with / between levels. * stands for any characters, also /. Example: INBOX",
    )
    skip_mailboxes: tuple[str, ...] = Field(
        default=(), max_length=100, title="Mailboxes to leave out", description="Names or patterns"
    )
    include_trash: bool = Field(
        default=False, title="Also trash, junk and drafts", description="Otherwise these mailboxes are left out"
    )
    since: date | None = Field(
        default=None, title="Since", description="Only messages that arrived on this day or later, such as 2026-01-31"
    )
    flags: tuple[str, ...] = Field(
        default=(),
        max_length=20,
        title="With flags",
        description=r"Only messages with all of these, such as \Flagged, \Seen or a keyword",
    )
    without_flags: tuple[str, ...] = Field(
        default=("\\Deleted", "\\Draft"),
        max_length=20,
        title="Without flags",
        description="Only messages with none of these",
    )
    security: Literal["tls", "starttls", "none"] = Field(
        default="tls",
        title="Security",
        description="tls: encrypted from the start. none: only for hosts that the operator names as private",
    )
    port: int | None = Field(
        default=None, ge=1, le=65535, title="Port", description="Default: 993 with tls, otherwise 143"
    )

    sign_in: SignInChoice = Field(
        default="password",
        title="Sign-in",
        description="password; or google or microsoft, whose mail servers want a sign-in instead (XOAUTH2)",
    )
    tenant: str = Field(
        default="common",
        pattern=r"^[A-Za-z0-9.-]{1,100}$",
        title="Tenant",
        description="For the sign-in at Microsoft: id or domain of the directory, such as example.onmicrosoft.com",
    )
    login_url: str | None = Field(
        default=None,
        max_length=300,
        pattern=r"^https?://[^\s/?#]+/?$",
        title="Sign-in address",
        description="Another one, for national clouds",
    )

    @field_validator("host", "user")
    @classmethod
    def _is_printable(cls, value: str) -> str:
        if not value.isprintable() or value != value.strip():
            raise ValueError("Must be printable, without spaces around it")
        return value

    @field_validator("flags", "without_flags")
    @classmethod
    def _are_flags(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        for flag in flags:
            if not _FLAG.fullmatch(flag.lower()):
                raise ValueError(r"Must be \Seen, \Answered, \Flagged, \Deleted, \Draft or a keyword")
        return flags

    def choice(self) -> MessageChoice:
        """Return the chosen messages."""
        return MessageChoice(
            since=self.since,
            flags=frozenset(flag.lower() for flag in self.flags),
            without_flags=frozenset(flag.lower() for flag in self.without_flags),
        )

    def sign_in_service(self) -> SignInService | None:
        """Return where a person signs in; None with a password."""
        return mail_sign_in(self.sign_in, tenant=self.tenant, login_url=self.login_url, user=self.user)

    def server(self) -> Server:
        """Return the server's address."""
        return Server(self.host, self.port or (993 if self.security == "tls" else 143), self.security)

    def chooses(self, mailbox: MailboxInfo) -> bool:
        """Return True for a chosen mailbox."""

        def matches(patterns: Sequence[str]) -> bool:
            return any(fnmatchcase(name, pattern) for pattern in patterns for name in (mailbox.path, mailbox.name))

        if not self.include_trash and self.mailboxes == ("*",):
            last = mailbox.path.rsplit("/", 1)[-1].lower()
            if mailbox.attributes & _LEFT_OUT or last in _LEFT_OUT_NAMES:
                return False
        return matches(self.mailboxes) and not matches(self.skip_mailboxes)


class PasswordCredentials(KindSchema):
    """The password of a mailbox's user."""

    password: SecretStr | None = Field(
        default=None, title="Password", description="Or an app password, where the service has these"
    )


class ImapCredentials(OAuthCredentials, PasswordCredentials):
    """The password of a mailbox's user, or an application with the tokens of a sign-in."""


class ImapConnector:
    """Mailboxes of a user."""

    title: ClassVar[str] = "Mailbox (IMAP)"
    description: ClassVar[str] = "Messages of a mail server, with their attachments. They are never marked as read."
    settings_schema: ClassVar[type[KindSchema]] = ImapSettings
    credentials_schema: ClassVar[type[KindSchema]] = ImapCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = ImapSettings.model_validate(settings, from_attributes=True)
        self._credentials = ImapCredentials.model_validate(credentials, from_attributes=True)
        self._context = context
        service = self._settings.sign_in_service()
        self._tokens: AccessTokens | None = None
        if service is not None:
            requests = MailTokenRequests(service, self._credentials, choice=self._settings.sign_in)
            self._tokens = AccessTokens(context, requests, self._credentials, service=service.name)
        self._connection = MailConnection(context.operator, self._settings.server(), self._login)

    @classmethod
    def sign_in_service(cls, settings: KindSchema) -> SignInService | None:
        """See SignInKind."""
        return ImapSettings.model_validate(settings, from_attributes=True).sign_in_service()

    async def check(self) -> None:
        """See Connector."""
        self._require_security()
        if not await self._mailboxes():
            raise InvalidInputError.of_field("settings.mailboxes", "The server has no mailbox of such a name.")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor has the states of the listed mailboxes, and the last message."""
        self._require_security()
        mailboxes = await self._mailboxes()
        listing = MailListing(self._connection, self._settings.choice(), self._context.accepts)
        async with aclosing(listing.batches(mailboxes, cursor=cursor, since=self._context.since)) as batches:
            async for batch in batches:
                yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector. The message is where it was, or it is searched for in all chosen mailboxes."""
        criteria = criteria_of_id(external_id)
        if criteria is None:
            return None
        self._require_security()
        mailboxes = {mailbox.name: mailbox for mailbox in await self._mailboxes()}
        known = (await self._context.find_known([external_id])).get(external_id)
        place = MessagePlace.of_note(known.note) if known else None
        if place is not None and place.mailbox in mailboxes:
            found = await self._matching(mailboxes[place.mailbox], [place.uid], external_id)
            if found is not None:
                return found
        for mailbox in mailboxes.values():
            state = await self._connection.examine(mailbox.name)
            uids = await self._connection.search(mailbox.name, 1, state.next_uid, criteria)
            found = await self._matching(mailbox, uids[:MOST_CANDIDATES], external_id)
            if found is not None:
                return found
        return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        place = MessagePlace.of_note(item.note)
        if place is None:
            raise ItemGoneError("The message has no known place any more.")
        return FetchedItem(content=self._content(place), content_type="message/rfc822", version=item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._connection.close()

    async def _content(self, place: MessagePlace) -> AsyncIterator[bytes]:
        """Yield the message as it was sent, in pieces: a literal is in memory as a whole."""
        if await self._connection.validity(place.mailbox) != place.validity:
            raise ItemGoneError("The server has renumbered the mailbox while the run was going on.")
        size = 0
        while True:
            part = f"BODY.PEEK[]<{size}.{PIECE_BYTES}>"
            message = (await self._connection.fetch(place.mailbox, [place.uid], [part])).get(place.uid)
            piece = next((value for key, value in (message or {}).items() if key.startswith(b"BODY[]")), None)
            if message is None or not isinstance(piece, bytes):
                if size == 0:
                    raise ItemGoneError("Deleted or moved while the run was going on.")
                return
            size += len(piece)
            if size > self._context.max_item_bytes:
                raise ItemRefusedError(f"Larger than {self._context.max_item_bytes:,} bytes.")
            if piece:
                yield piece
            if len(piece) < PIECE_BYTES:
                return

    async def _matching(self, mailbox: MailboxInfo, uids: Sequence[int], external_id: str) -> ListedItem | None:
        validity, choice = await self._connection.validity(mailbox.name), self._settings.choice()
        for start in range(0, len(uids), BATCH):
            messages = await self._connection.fetch(mailbox.name, uids[start : start + BATCH], LISTED_PARTS)
            for uid, message in sorted(messages.items()):
                item = listed(mailbox, validity, uid, message) if choice.accepts(message) else None
                if item is not None and item.external_id == external_id and self._context.accepts(item.name):
                    return item
        return None

    async def _mailboxes(self) -> list[MailboxInfo]:
        return sorted_mailboxes(
            [mailbox for mailbox in await self._connection.mailboxes() if self._settings.chooses(mailbox)]
        )

    async def _login(self, refused: Login | None) -> Login:
        user, given = self._settings.user, self._credentials
        if self._tokens is not None:
            token = await self._tokens.current() if refused is None else await self._tokens.after(refused.secret)
        else:
            secret = given.password or given.access_token
            # A stored token cannot be renewed.
            token = secret.get_secret_value() if secret is not None and refused is None else None
        if token is not None:
            return Login(user, token, is_token=self._tokens is not None or given.password is None)
        if refused is not None:
            raise wrong_login(refused)
        raise CredentialsRefusedError(
            "The source has no password. Add one to its credentials, or choose Google or Microsoft as its sign-in."
        )

    def _require_security(self) -> None:
        host = self._settings.host.lower().rstrip(".")
        private = {name.lower().rstrip(".") for name in self._context.operator.private_hosts}
        if self._settings.security == "none" and host not in private:
            raise InvalidInputError.of_field(
                "settings.security",
                "Without encryption everybody on the way reads the password. Choose tls or starttls.",
            )
