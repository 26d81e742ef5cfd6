"""Git's smart protocol over HTTP, version 2, and version 0 of older servers, with our own client.

Sources: git's gitprotocol-v2, gitprotocol-http and gitprotocol-pack.
"""

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import IO, cast

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.connections.decoding import decoded
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.git.pack import DamagedPackError, Pack

FLUSH, DELIMITER, END = "flush", "delimiter", "end"
MOST_BYTES_OF_LINES = 16 * 1024 * 1024
SERVICE = "git-upload-pack"
_ADVERTISEMENT = f"application/x-{SERVICE}-advertisement"
_LONGEST_PACKET = 65_520
_DATA, _FAILURE = b"\x01", b"\x03"
_MARKS = {0: FLUSH, 1: DELIMITER, 2: END}
_ID = re.compile(r"[0-9a-f]{40}")
_VERSION_2 = {"git-protocol": "version=2"}

Packet = bytes | str
"""The content of a packet line; FLUSH, DELIMITER or END."""


class PackTooLargeError(PermanentError):
    """The pack has more bytes than are read."""

    code = "repository_too_large"


class ObjectMissingError(NotFoundError):
    """The server does not have an object that was asked for, or does not give it."""


@dataclass(frozen=True, slots=True)
class References:
    """Branches and tags with the ids of their commits; tags with those of the tagged objects."""

    by_name: dict[str, str]
    head: str | None = None
    """The name of the branch that HEAD stands for."""


@dataclass(frozen=True, slots=True)
class PackLimits:
    """The wanted part of a repository.

    Attributes:
        most_bytes: of the pack.
        most_object_bytes: larger objects are left out.
        depth: number of commits from the wanted one; None if no commit is wanted.
        has_files: with the content of files; without it the server must have a filter.
    """

    most_bytes: int
    most_object_bytes: int
    depth: int | None = None
    has_files: bool = True


@dataclass(slots=True)
class _Abilities:
    """The abilities of the server."""

    is_version_2: bool = False
    has_filter: bool = False
    has_shallow: bool = False
    references: References = field(default_factory=lambda: References({}))
    """Of version 0, which tells them at once."""


class GitRemote:
    """A repository on a server."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client
        self._address = ""
        """The address of the repository after redirects; "" stands for that of the client."""
        self._abilities: _Abilities | None = None

    async def references(self, *names: str) -> References:
        """Return the references with these names, and HEAD.

        Raises:
            PermanentError: the address is no git repository, or one of another kind.
            AnalytiqError: see `ServiceClient.call`.
        """
        abilities = await self._known_abilities()
        if not abilities.is_version_2:
            return abilities.references
        wanted = ["peel", "symrefs", *(f"ref-prefix {name}" for name in ("HEAD", *names))]
        found: dict[str, str] = {}
        head: str | None = None
        async with aclosing(self._posted(_command("ls-refs", wanted))) as packets:
            async for packet in packets:
                if not isinstance(packet, bytes):
                    break
                object_id, _, rest = packet.decode("utf-8", "replace").rstrip("\n").partition(" ")
                name, *attributes = rest.split(" ")
                found[name] = _require_id(object_id)
                for attribute in attributes:
                    if attribute.startswith("peeled:"):
                        found[name] = _require_id(attribute.removeprefix("peeled:"))
                    elif attribute.startswith("symref-target:") and name == "HEAD":
                        head = attribute.removeprefix("symref-target:")
        return References(found, head)

    async def has_filter(self) -> bool:
        """Return True if the server sends trees without the files' content."""
        return (await self._known_abilities()).has_filter

    async def pack(self, wanted: Sequence[str], limits: PackLimits) -> Pack:
        """Return the wanted objects with what they consist of; the caller closes the pack.

        Raises:
            PackTooLargeError: the pack is larger.
            ObjectMissingError: the server does not have an object.
            DamagedPackError: the pack cannot be read.
        """
        abilities = await self._known_abilities()
        file = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115  # the pack closes it
        try:
            await self._download(file, _fetch(abilities, wanted, limits), limits.most_bytes)
            file.flush()
            return await asyncio.to_thread(Pack, file, most_bytes=limits.most_object_bytes)
        except BaseException:
            file.close()
            raise

    async def _known_abilities(self) -> _Abilities:
        if self._abilities is None:
            self._abilities = await self._advertised()
        return self._abilities

    async def _advertised(self) -> _Abilities:
        parameters = {"service": SERVICE}
        async with self._client.stream("GET", "/info/refs", parameters=parameters, headers=_VERSION_2) as response:
            if not response.headers.get("content-type", "").startswith(_ADVERTISEMENT):
                raise PermanentError("The address is no git repository with smart HTTP. Check the address.")
            self._address = str(response.url.copy_with(query=None)).removesuffix("/info/refs")
            async with aclosing(_packets(decoded(response), MOST_BYTES_OF_LINES)) as packets:
                return await _read_advertisement(packets)

    async def _download(self, file: IO[bytes], request: bytes, most_bytes: int) -> None:
        size = 0
        in_pack = not (await self._known_abilities()).is_version_2
        async with aclosing(self._posted(request, most_bytes + most_bytes // 8 + MOST_BYTES_OF_LINES)) as packets:
            async for packet in packets:
                if not isinstance(packet, bytes):
                    if in_pack and size:
                        break
                    continue
                if not in_pack:
                    in_pack = packet.rstrip(b"\n") == b"packfile"
                    continue
                band, content = packet[:1], packet[1:]
                if band == _DATA:
                    size += len(content)
                    if size > most_bytes:
                        raise PackTooLargeError(f"The repository's content is larger than {most_bytes:,} bytes.")
                    file.write(content)
                elif band == _FAILURE:
                    raise _failure(content)
        if not size:
            raise DamagedPackError("The server sent no objects.")

    async def _posted(self, request: bytes, most_bytes: int = MOST_BYTES_OF_LINES) -> AsyncGenerator[Packet]:
        headers = {
            **_VERSION_2,
            "content-type": f"application/x-{SERVICE}-request",
            "accept": f"application/x-{SERVICE}-result",
        }
        address = f"{self._address}/{SERVICE}"
        async with (
            self._client.stream("POST", address, body=request, headers=headers) as response,
            aclosing(_packets(decoded(response), most_bytes)) as packets,
        ):
            async for packet in packets:
                if isinstance(packet, bytes) and packet.startswith(b"ERR "):
                    raise _failure(packet[4:])
                yield packet


async def _packets(blocks: AsyncIterator[bytes], most_bytes: int) -> AsyncGenerator[Packet]:
    """Yield the packet lines of an answer.

    Raises:
        PermanentError: it does not consist of packet lines, or is larger.
    """
    rest, total = bytearray(), 0
    async for block in blocks:
        total += len(block)
        if total > most_bytes:
            raise PackTooLargeError(f"The server answers with more than {most_bytes:,} bytes.")
        rest += block
        at = 0
        while len(rest) - at >= 4:
            try:
                size = int(bytes(rest[at : at + 4]), 16)
            except ValueError:
                raise PermanentError("The server does not answer as git servers do.") from None
            if size in _MARKS:
                yield _MARKS[size]
                at += 4
            elif not 4 <= size <= _LONGEST_PACKET:
                raise PermanentError("The server does not answer as git servers do.")
            elif len(rest) - at < size:
                break
            else:
                yield bytes(rest[at + 4 : at + size])
                at += size
        del rest[:at]
    if rest:
        raise DamagedPackError("The server broke off its answer.")


async def _read_advertisement(packets: AsyncIterator[Packet]) -> _Abilities:
    found: dict[str, str] = {}
    abilities = _Abilities()
    head: str | None = None
    async for packet in packets:
        line = packet.decode("utf-8", "replace").rstrip("\n") if isinstance(packet, bytes) else ""
        if not line or line.startswith("# service=") or line == "version 1":
            continue
        if line == "version 2":
            abilities.is_version_2 = True
        elif abilities.is_version_2:
            head = _read_capabilities(abilities, line.replace("fetch=", "", 1).split(" ")) or head
        else:
            reference, _, capabilities = line.partition("\0")
            head = _read_capabilities(abilities, capabilities.split(" ")) or head
            object_id, _, name = reference.partition(" ")
            if name != "capabilities^{}":
                found[name.removesuffix("^{}")] = _require_id(object_id)
    abilities.references = References(found, head)
    return abilities


def _read_capabilities(abilities: _Abilities, capabilities: Sequence[str]) -> str | None:
    """Note abilities of the server; return the branch that HEAD stands for, if it is among them."""
    head: str | None = None
    for capability in capabilities:
        name, _, value = capability.partition("=")
        if name == "shallow":
            abilities.has_shallow = True
        elif name == "filter":
            abilities.has_filter = abilities.is_version_2
        elif name == "object-format" and value != "sha1":
            raise PermanentError("The repository names its objects by SHA-256, which is not supported.")
        elif name == "symref" and value.startswith("HEAD:"):
            head = value.removeprefix("HEAD:")
    return head


def _fetch(abilities: _Abilities, wanted: Sequence[str], limits: PackLimits) -> bytes:
    """Return the request for a pack."""
    depth = [f"deepen {limits.depth}"] if limits.depth and abilities.has_shallow else []
    if abilities.is_version_2:
        filters = [] if limits.has_files else ["filter blob:none"]
        wants = [f"want {object_id}" for object_id in wanted]
        return _command("fetch", ["no-progress", "ofs-delta", *wants, *depth, *filters, "done"])
    first, *others = wanted
    lines = [f"want {first} side-band-64k ofs-delta no-progress", *(f"want {each}" for each in others), *depth]
    return b"".join(_line(line) for line in lines) + b"0000" + _line("done")


def _command(name: str, arguments: Sequence[str]) -> bytes:
    return _line(f"command={name}") + b"0001" + b"".join(map(_line, arguments)) + b"0000"


def _line(text: str) -> bytes:
    content = f"{text}\n".encode()
    return f"{len(content) + 4:04x}".encode() + content


def _require_id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise PermanentError("The server does not answer as git servers do.")
    return text


def _failure(content: bytes) -> Exception:
    said = content[:300].decode("utf-8", "replace").strip()
    if "not our ref" in said or "unadvertised object" in said:
        return ObjectMissingError("The server does not have the commit or file any more.")
    shown = "".join(letter if letter.isprintable() else " " for letter in said)
    return PermanentError(f"The git server refuses: {shown!r}.")
