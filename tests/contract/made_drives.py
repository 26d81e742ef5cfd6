"""Mailboxes of the contract's tests."""

import contextlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from analytiq.ingestion.sources.base import ListedItem
from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
from tests.fakes.dovecot import HOST, PASSWORD, PROGRAM, USER, Dovecot
from tests.fakes.dropbox_server import DropboxServer
from tests.fakes.google_drive_server import GoogleDriveServer
from tests.fakes.graph_server import GraphServer

LOCAL = SourceSettings(private_hosts=("127.0.0.1", HOST))


@dataclass(frozen=True, slots=True)
class MadeMail(Made):
    """Messages whose subjects are the names, and whose bodies are the contents."""

    def name_of(self, item: ListedItem) -> str:
        """Return the message's subject."""
        return str(item.fields["subject"])

    def text_of(self, content: bytes) -> bytes:
        """Return the message's body."""
        return content.partition(b"\r\n\r\n")[2]


def made_imap(stack: ExitStack, _: Path) -> Made:
    """Return a mailbox on Dovecot; a change is another message."""
    if PROGRAM is None:
        pytest.skip("Dovecot is not installed: apt-get install dovecot-imapd")
    server = stack.enter_context(Dovecot())
    session = stack.enter_context(server.session())
    session.select("INBOX")
    session.append("INBOX", "", "", b"Subject: A draft\r\n\r\nNot finished.")
    session.store("1", "+FLAGS", "\\Draft")
    numbers: dict[str, int] = {}

    def write(name: str, content: str) -> None:
        if name in numbers:
            session.uid("STORE", str(numbers[name]), "+FLAGS", "(\\Deleted)")
            session.expunge()
        _, answer = session.append("INBOX", "", "", f"Subject: {name}\r\n\r\n{content}".encode())
        with contextlib.suppress(IndexError, ValueError):
            numbers[name] = int(answer[0].split(b"]")[0].split()[-1])

    settings: dict[str, JsonValue] = {
        "host": HOST,
        "user": USER,
        "port": server.port,
        "security": "none",
        "mailboxes": ["INBOX"],
    }
    return MadeMail("imap", opening("imap", settings, LOCAL, credentials={"password": PASSWORD}), write)


def made_onedrive(stack: ExitStack, _: Path) -> Made:
    """Return the drive of a user."""
    server = stack.enter_context(GraphServer())
    settings = {**server.settings, "user": "ada@example.com", "read_access": True}

    def write(name: str, content: str) -> None:
        server.write(name, content)

    return Made("onedrive", opening("onedrive", settings, LOCAL, credentials=server.credentials), write)


def made_sharepoint(stack: ExitStack, _: Path) -> Made:
    """Return a library of a site, and a folder of it."""
    server = stack.enter_context(GraphServer())
    server.write("other.txt", "Behind another folder.")
    site = "https://example.sharepoint.com/sites/team"
    settings = {**server.settings, "site": site, "folder": "Shelf"}

    def write(name: str, content: str) -> None:
        server.write(f"Shelf/{name}", content)

    opened = opening("sharepoint", settings, LOCAL, credentials=server.credentials)
    return Made("sharepoint", opened, write, "Documents/Shelf/")


def made_google_drive(stack: ExitStack, _: Path) -> Made:
    """Return a folder of Google Drive; the other file is not in it."""
    server = stack.enter_context(GoogleDriveServer())
    server.write("other.txt", "Behind another folder.")
    server.write("Shelf/none.txt", "")
    settings = {**server.settings, "folder": server.id_of("Shelf")}
    server.delete(server.id_of("none.txt"))

    def write(name: str, content: str) -> None:
        server.write(f"Shelf/{name}", content)

    opened = opening("google-drive", settings, LOCAL, credentials=server.credentials)
    return Made("google-drive", opened, write, "Shelf/")


def made_dropbox(stack: ExitStack, _: Path) -> Made:
    """Return a folder of Dropbox; the other file is not in it."""
    server = stack.enter_context(DropboxServer())
    server.write("/other.txt", "Behind another folder.")
    settings = {**server.settings, "folder": "/Shelf"}

    def write(name: str, content: str) -> None:
        server.write(f"/Shelf/{name}", content)

    opened = opening("dropbox", settings, LOCAL, credentials=server.credentials)
    return Made("dropbox", opened, write, "Shelf/")


DRIVES = {
    "dropbox": made_dropbox,
    "google-drive": made_google_drive,
    "imap": made_imap,
    "onedrive": made_onedrive,
    "sharepoint": made_sharepoint,
}
