"""Mailboxes on a real Dovecot, and on servers that answer what none should."""

import asyncio
import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from pydantic import JsonValue, SecretStr

from analytiq.errors import AnalytiqError, InvalidInputError, TransientError
from analytiq.ingestion.sources.base import Connector, ItemGoneError, KnownItem, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.connections.oauth import OAuthCredentials, SignInNeededError
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.ingestion.sources.systems.imap.sign_in import MailTokenRequests, mail_sign_in
from analytiq.settings import SourceSettings
from tests.fakes.dovecot import HOST, PASSWORD, PROGRAM, USER, Dovecot
from tests.fakes.mail_sign_in import MailSignIn

LOCAL = SourceSettings(private_hosts=("127.0.0.1", HOST))
HELLO = b"Message-ID: <1@x>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= /../\r\nFrom: Ada <a@b>\r\n\r\nHello.\r\n"
needs_dovecot = pytest.mark.skipif(PROGRAM is None, reason="Dovecot is not installed: apt-get install dovecot-imapd")


@pytest.fixture(scope="module")
def sign_in() -> Iterator[MailSignIn]:
    with MailSignIn(USER) as service:
        yield service


@pytest.fixture(scope="module")
def running(sign_in: MailSignIn) -> Iterator[Dovecot]:
    with Dovecot(f"{sign_in.url}/introspect") as server:
        yield server


@pytest.fixture
def server(running: Dovecot) -> Dovecot:
    with running.session() as session:
        _, listed = session.list()
        for entry in listed:
            assert isinstance(entry, bytes)
            session.delete(entry.split(b' "." ')[1].decode())
        session.select("INBOX")
        if session.uid("SEARCH", "ALL")[1] != [b""]:
            session.store("1:*", "+FLAGS", "\\Deleted")
            session.expunge()
    return running


def opened(
    port: int,
    *,
    since: str | None = None,
    credentials: Mapping[str, JsonValue] | None = None,
    kept: dict[str, JsonValue] | None = None,
    **settings: JsonValue,
) -> Connector:
    kind = load_kind("imap")

    async def keep(fields: Mapping[str, JsonValue]) -> None:
        if kept is not None:
            kept.update(fields)

    async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
        return {}

    context = SourceContext(
        organization_id="f" * 24,
        operator=LOCAL,
        find_known=nothing_known,
        accepts=lambda _: True,
        max_item_bytes=3_000_000,
        since=since,
        keep_credentials=keep,
    )
    values = {"host": HOST, "user": USER, "port": port, "security": "none", **settings}
    return kind(
        settings=validated(kind.settings_schema, values, field="settings"),
        credentials=validated(kind.credentials_schema, credentials or {"password": PASSWORD}, field="credentials"),
        context=context,
    )


async def listed(port: int, *, since: str | None = None, **settings: Any) -> list[ListedBatch]:
    connector = opened(port, since=since, **settings)
    try:
        return [batch async for batch in connector.list_changes(None)]
    finally:
        await connector.close()


def items_of(batches: Sequence[ListedBatch]) -> list[ListedItem]:
    return [item for batch in batches for item in batch.items]


def names_of(batches: Sequence[ListedBatch]) -> list[str]:
    return [item.name for item in items_of(batches)]


async def content_of(connector: Connector, item: ListedItem) -> bytes:
    return b"".join([piece async for piece in (await connector.fetch(item)).content])


@needs_dovecot
async def test_message_is_read_whole_and_stays_unread(server: Dovecot) -> None:
    long = HELLO + b"A line of text.\r\n" * 70_000
    server.deliver(long)
    connector = opened(server.port)
    [item] = items_of([batch async for batch in connector.list_changes(None)])
    assert item.name == "INBOX/Grüße.eml"
    assert item.fields["from"] == "Ada <a@b>"
    assert item.byte_size == len(long)
    assert await content_of(connector, item) == long
    await connector.close()
    with server.session() as session:
        session.select("INBOX")
        assert session.search(None, "UNSEEN")[1] == [b"1"]


@needs_dovecot
async def test_second_run_lists_what_came_and_what_changed_only(server: Dovecot) -> None:
    server.deliver(HELLO)
    first = await listed(server.port)
    assert not first[-1].is_delta
    unchanged = await listed(server.port, since=first[-1].next_since)
    assert unchanged[-1].is_delta
    assert not items_of(unchanged)
    server.deliver(b"Subject: Second\r\n\r\n2")
    second = await listed(server.port, since=unchanged[-1].next_since)
    assert all(batch.is_delta for batch in second)
    assert names_of(second) == ["INBOX/Second.eml"]


@needs_dovecot
async def test_moved_message_stays_one_item_and_a_loss_lists_everything(server: Dovecot) -> None:
    server.deliver(HELLO)
    server.deliver(b"Subject: Second\r\n\r\n2", mailbox="Caf&AOk-.old")
    first = await listed(server.port)
    with server.session() as session:
        session.select("INBOX")
        session.copy("1", '"Caf&AOk-.old"')
        session.store("1", "+FLAGS", "\\Deleted")
        session.expunge()
    second = await listed(server.port, since=first[-1].next_since)
    assert not second[-1].is_delta
    assert names_of(second) == ["Café/old/Second.eml", "Café/old/Grüße.eml"]
    assert {item.external_id for item in items_of(second)} == {item.external_id for item in items_of(first)}


@needs_dovecot
@pytest.mark.parametrize("flag", ["\\Deleted", "\\Draft"])
async def test_message_that_leaves_the_choice_lists_everything(server: Dovecot, flag: str) -> None:
    server.deliver(HELLO)
    first = await listed(server.port)
    with server.session() as session:
        session.select("INBOX")
        session.store("1", "+FLAGS", flag)
    second = await listed(server.port, since=first[-1].next_since)
    assert not second[-1].is_delta
    assert not items_of(second)


@needs_dovecot
async def test_renumbered_mailbox_has_the_same_items(server: Dovecot) -> None:
    server.deliver(HELLO, mailbox="Old")
    first = await listed(server.port)
    with server.session() as session:
        session.delete("Old")
    server.deliver(HELLO, mailbox="Old")
    second = await listed(server.port, since=first[-1].next_since)
    assert not second[-1].is_delta
    assert [item.external_id for item in items_of(second)] == [item.external_id for item in items_of(first)]
    connector = opened(server.port)
    with pytest.raises(ItemGoneError):
        await content_of(connector, items_of(first)[0])
    await connector.close()


@needs_dovecot
async def test_message_that_moves_to_a_listed_mailbox_during_the_run_is_listed(server: Dovecot) -> None:
    server.deliver(b"Subject: First\r\n\r\n1", mailbox="A")
    server.deliver(HELLO, mailbox="B")
    connector = opened(server.port)
    batches: list[ListedBatch] = []
    async for batch in connector.list_changes(None):
        batches.append(batch)
        if len(batches) == 1:
            with server.session() as session:
                session.select("B")
                session.copy("1", "A")
                session.store("1", "+FLAGS", "\\Deleted")
                session.expunge()
    await connector.close()
    assert names_of(batches) == ["A/First.eml", "A/Grüße.eml"]


@needs_dovecot
async def test_chosen_messages_only(server: Dovecot) -> None:
    server.deliver(b"Subject: Seen\r\n\r\n1", flags="\\Seen")
    server.deliver(b"Subject: Starred\r\n\r\n1", flags="\\Flagged", mailbox="Work")
    server.deliver(b"Subject: Rubbish\r\n\r\n1", mailbox="Trash")
    assert names_of(await listed(server.port)) == ["INBOX/Seen.eml", "Work/Starred.eml"]
    assert names_of(await listed(server.port, flags=["\\Flagged"])) == ["Work/Starred.eml"]
    assert names_of(await listed(server.port, without_flags=["\\Seen"])) == ["Work/Starred.eml"]
    assert names_of(await listed(server.port, skip_mailboxes=["W*"])) == ["INBOX/Seen.eml"]
    assert names_of(await listed(server.port, include_trash=True))[1:] == ["Trash/Rubbish.eml", "Work/Starred.eml"]


@needs_dovecot
async def test_encrypted_connections_check_the_certificate(server: Dovecot, monkeypatch: pytest.MonkeyPatch) -> None:
    server.deliver(HELLO)
    with pytest.raises(TransientError, match="No secure connection"):
        await listed(server.tls_port, security="tls")
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    assert len(items_of(await listed(server.tls_port, security="tls"))) == 1
    assert len(items_of(await listed(server.port, security="starttls"))) == 1


@needs_dovecot
async def test_wrong_password_is_told(server: Dovecot) -> None:
    with pytest.raises(CredentialsRefusedError, match="refuses the user or its password"):
        await listed(server.port, user="eve@example.com")


class StrangeServer:
    """A server that logs everybody in; `answers` are its answers by command."""

    def __init__(self, answers: Mapping[str, bytes], *, greeting: bytes = b"* OK ready\r\n") -> None:
        self._greeting = greeting
        self._answers = {
            "CAPABILITY": b"* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n",
            "LIST": b'* LIST () "/" INBOX\r\n',
            "EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 1] .\r\n* OK [UIDNEXT 2] .\r\n",
            "SEARCH": b"* SEARCH 1\r\n",
            **answers,
        }
        self.commands: list[str] = []
        self.secrets: list[str] = []

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self._greeting)
        try:
            while line := await reader.readline():
                tag, command, *rest = line.decode().split()
                name = rest[0] if command == "UID" else command
                self.commands.append(name)
                if name == "AUTHENTICATE":
                    writer.write(b"+ \r\n")
                    self.secrets.append(base64.b64decode(await reader.readline()).decode())
                writer.write(self._answers.get(name, b""))
                writer.write(f"{tag} OK done\r\n".encode())
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.mark.parametrize(
    "answers",
    [
        {"LIST": b'* LIST () "/" {9999999999}\r\n'},
        {"LIST": b'* LIST () "/" INBOX\r\n' * 1_000_000},
        {"LIST": b"* LIST " + b"(" * 20_000 + b"\r\n"},
        {"LIST": b'* LIST () "/" "&AAA"\r\n'},
        {"LIST": b"\0\xff\r\n"},
        {"LIST": b"* LIST ()\r\n"},
        {"EXAMINE": b"* 1 EXISTS\r\n"},
        {"EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY x] .\r\n* OK [UIDNEXT 99999999999999999999999] .\r\n"},
        {"SEARCH": b"* SEARCH 1 x\r\n"},
        {"FETCH": b"* 1 FETCH (UID 1 FLAGS\r\n"},
    ],
    ids=range(10),
)
async def test_strange_answer_brings_no_item_and_at_most_a_reason(answers: Mapping[str, bytes]) -> None:
    async with StrangeServer(answers) as port, asyncio.timeout(20):
        try:
            assert not items_of(await listed(port))
        except AnalytiqError as error:
            assert error.detail.endswith(".")  # noqa: PT017  # some are bad enough to end the run, others are skipped


async def test_messages_that_were_not_asked_for_are_left_out() -> None:
    fetch = b"".join(
        b'* %d FETCH (UID %d FLAGS () RFC822.SIZE 5 INTERNALDATE "01-Jan-2026 00:00:00 +0000")\r\n' % (uid, uid)
        for uid in range(1, 500)
    )
    answers = {"SEARCH": b"* SEARCH 1 7 4294967295 18446744073709551617\r\n", "FETCH": fetch}
    async with StrangeServer(answers) as port:
        batches = await listed(port)
    assert names_of(batches) == ["INBOX/Message.eml"]


async def test_plain_connection_needs_the_operators_word() -> None:
    with pytest.raises(InvalidInputError, match="Choose tls or starttls"):
        await listed(1, host="mail.example.com")


async def test_private_host_is_refused() -> None:
    with pytest.raises(ForbiddenAddressError):
        await listed(143, host="127.0.0.2", security="tls")


async def test_server_that_is_logged_in_already_is_not_sent_a_password_in_the_clear() -> None:
    server = StrangeServer({}, greeting=b"* PREAUTH hello\r\n")
    async with server as port:
        with pytest.raises(AnalytiqError):
            await listed(port, security="starttls")
    assert not server.secrets


SIGNED_IN: Mapping[str, JsonValue] = {"client_id": "client", "client_secret": "secret", "refresh_token": "refresh-1"}


@needs_dovecot
async def test_sign_in_opens_the_mailbox_and_is_renewed(server: Dovecot, sign_in: MailSignIn) -> None:
    server.deliver(HELLO)
    kept: dict[str, JsonValue] = {}
    # The stored token seems valid, and the mail server refuses it.
    stored = {**SIGNED_IN, "access_token": "token-revoked", "expires_at": 4e9, "password": "of before"}
    connector = opened(server.port, credentials=stored, kept=kept, sign_in="google", login_url=sign_in.url)
    try:
        await connector.check()
        items = [item for batch in [each async for each in connector.list_changes(None)] for item in batch.items]
    finally:
        await connector.close()
    assert len(items) == 1
    assert kept["access_token"] == sign_in.token


@needs_dovecot
async def test_refused_sign_ins_are_told(server: Dovecot, sign_in: MailSignIn) -> None:
    async def problem(credentials: Mapping[str, JsonValue], choice: str = "google") -> AnalytiqError:
        connector = opened(server.port, credentials=credentials, sign_in=choice, login_url=sign_in.url)
        try:
            with pytest.raises(AnalytiqError) as raised:
                await connector.check()
        finally:
            await connector.close()
        return raised.value

    assert isinstance(await problem({"client_id": "client", "client_secret": "secret"}), SignInNeededError)
    assert isinstance(await problem({**SIGNED_IN, "refresh_token": "revoked"}), SignInNeededError)
    assert isinstance(await problem({"access_token": "stale"}, "password"), CredentialsRefusedError)
    sign_in.user = "another@example.com"
    try:
        refused = await problem(SIGNED_IN)
    finally:
        sign_in.user = USER
    assert isinstance(refused, CredentialsRefusedError)
    assert f"for the user {USER!r}" in refused.detail


def test_microsoft_is_asked_as_the_person_or_as_the_application() -> None:
    service = mail_sign_in("microsoft", tenant="example.com", login_url=None, user=USER)
    assert service is not None
    assert service.authorization_url == "https://login.microsoftonline.com/example.com/oauth2/v2.0/authorize"
    credentials = OAuthCredentials(client_id="app", client_secret=SecretStr("secret"))
    requests = MailTokenRequests(service, credentials, choice="microsoft")
    assert (requests.form("r") or {})["scope"] == "offline_access https://outlook.office.com/IMAP.AccessAsUser.All"
    assert (requests.form(None) or {})["grant_type"] == "client_credentials"
    assert MailTokenRequests(service, credentials, choice="google").form(None) is None
    assert mail_sign_in("password", tenant="common", login_url=None, user=USER) is None
