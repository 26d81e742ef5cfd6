"""A kind of source in memory, whose service tells its changes: for tests of the engine that runs sources."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest
from pydantic import SecretStr

from analytiq.errors import AnalytiqError
from analytiq.ingestion.sources import registry
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemAccess,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    PositionExpiredError,
    SourceContext,
)

KIND = "scripted"


@dataclass(slots=True)
class ScriptedService:
    """A service: items with versions, and a log of changes; a position is the length of the log.

    Attributes:
        log: ids of items in the order of their changes.
        page: items of a batch.
        oldest: the service does not know positions before this one.
        faults: of calls: "list", "fetch ID", "find ID".
        silent: calls that never end.
        renewed: the token that the connector receives and stores with its first call.
        overtaking: version and text that an item gets between its listing and its fetch.
        asked: (since, cursor) of each listing.
        fetched: ids, in order.
        used_tokens: of each listing.
    """

    items: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    access: dict[str, ItemAccess] = field(default_factory=dict[str, ItemAccess])
    log: list[str] = field(default_factory=list[str])
    page: int = 3
    oldest: int = 0
    faults: dict[str, Exception] = field(default_factory=dict[str, Exception])
    silent: set[str] = field(default_factory=set[str])
    renewed: str | None = None
    overtaking: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    asked: list[tuple[str | None, str | None]] = field(default_factory=list[tuple[str | None, str | None]])
    fetched: list[str] = field(default_factory=list[str])
    used_tokens: list[str] = field(default_factory=list[str])

    def write(self, *ids: str, content: str = "") -> None:
        """Write items, each with a new version."""
        for external_id in ids:
            self.log.append(external_id)
            version = len(self.log)
            self.items[external_id] = (version, content or f"Text {version} of the item {external_id}.")

    def remove(self, *ids: str) -> None:
        """Remove items."""
        for external_id in ids:
            self.log.append(external_id)
            del self.items[external_id]

    def allow(self, external_id: str, access: ItemAccess) -> None:
        """Change who may read an item, which is a change without a version."""
        self.log.append(external_id)
        self.access[external_id] = access

    def listed(self, external_id: str) -> ListedItem:
        """Return an item as it is listed."""
        return ListedItem(
            external_id=external_id,
            name=f"{external_id}.txt",
            version=str(self.items[external_id][0]),
            access=self.access.get(external_id),
        )

    async def answer(self, call: str) -> None:
        """Raise the fault of a call, or never answer."""
        if call in self.silent:
            await asyncio.Event().wait()
        if call in self.faults:
            raise self.faults[call]


_SERVICES: dict[str, ScriptedService] = {}


class ScriptedSettings(KindSchema):
    """The settings: the name of a service of the test."""

    service: str
    label: str = ""


class ScriptedCredentials(KindSchema):
    """The credentials."""

    client: SecretStr = SecretStr("")
    token: SecretStr = SecretStr("")


class ScriptedConnector:
    """A connection to a scripted service."""

    title: ClassVar[str] = "Scripted"
    description: ClassVar[str] = "A service in memory."
    settings_schema: ClassVar[type[KindSchema]] = ScriptedSettings
    credentials_schema: ClassVar[type[KindSchema]] = ScriptedCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        assert isinstance(settings, ScriptedSettings)
        assert isinstance(credentials, ScriptedCredentials)
        self._service = _SERVICES[settings.service]
        self._token = credentials.token.get_secret_value()
        self._context = context

    async def check(self) -> None:
        await self._renew()

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        service, since = self._service, self._context.since
        service.asked.append((since, cursor))
        await self._renew()
        service.used_tokens.append(self._token)
        # The listing names what there was when it began: its cursor holds that.
        first, end = map(int, cursor.split()) if cursor else (0, len(service.log))
        if since is not None and int(since) < service.oldest:
            raise PositionExpiredError("That position is too old.")
        # A whole listing names removed items too, which must do no harm.
        begun = 0 if since is None else int(since)
        ids = sorted(set(service.log[begun:end]))
        for start in range(first, max(len(ids), 1), service.page):
            await service.answer("list")
            shown = ids[start : start + service.page]
            yield ListedBatch(
                items=[service.listed(each) for each in shown if each in service.items],
                cursor=f"{start + service.page} {end}",
                removed=[each for each in shown if each not in service.items],
                is_delta=since is not None,
                next_since=str(end) if start + service.page >= len(ids) else None,
            )

    async def find(self, external_id: str) -> ListedItem | None:
        await self._service.answer(f"find {external_id}")
        return self._service.listed(external_id) if external_id in self._service.items else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        await self._service.answer(f"fetch {item.external_id}")
        self._service.fetched.append(item.external_id)
        if item.external_id not in self._service.items:
            raise ItemGoneError("It was deleted.")
        if item.external_id in self._service.overtaking:
            self._service.items[item.external_id] = self._service.overtaking.pop(item.external_id)
        version, text = self._service.items[item.external_id]
        return FetchedItem(_once(text), "text/plain", str(version))

    async def close(self) -> None:
        return None

    async def _renew(self) -> None:
        if self._service.renewed is not None:
            self._token, self._service.renewed = self._service.renewed, None
            await self._context.keep_credentials({"token": self._token})


@contextmanager
def scripted_services(names: Sequence[str] = ("service",)) -> Generator[list[ScriptedService]]:
    """Install the kind with services of these names."""
    found = [ScriptedService() for _ in names]
    entry = EntryPoint(KIND, f"{__name__}:ScriptedConnector", registry.ENTRY_POINT_GROUP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "BUILT_IN_KINDS", (*registry.BUILT_IN_KINDS, entry))
        _SERVICES.update(zip(names, found, strict=True))
        yield found
        for name in names:
            del _SERVICES[name]


async def _once(text: str) -> AsyncIterator[bytes]:
    yield text.encode()


def faults_of(error: AnalytiqError, *calls: str) -> dict[str, Exception]:
    """Return the same fault for some calls."""
    return dict.fromkeys(calls, error)
