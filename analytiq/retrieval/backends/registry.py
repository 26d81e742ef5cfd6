"""Backends by name: the built-in ones and those of other packages.

A package adds a backend by an entry point in the group `analytiq.retrieval_backends`: the name is what
`ANALYTIQ_SEARCH__VECTOR_STORE` says and a knowledge base stores, the object a `BackendType`. A built-in name cannot be
taken over, since knowledge bases are served by name.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

import structlog

from analytiq.errors import InvalidInputError
from analytiq.models.knowledge_base import LOCAL_BACKEND, KnowledgeBase
from analytiq.retrieval.backends.base import RetrievalBackend
from analytiq.settings import SearchSettings, Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.search.indexes import SearchIndexes

log = structlog.get_logger(__name__)

ENTRY_POINT_GROUP = "analytiq.retrieval_backends"
SETTING = "ANALYTIQ_SEARCH__VECTOR_STORE"
AUTO = "auto"
MONGODB = "mongodb"
_BUILT_IN = {
    LOCAL_BACKEND: "analytiq.retrieval.backends.local.backend",
    MONGODB: "analytiq.retrieval.backends.mongodb.backend",
}


@dataclass(frozen=True, slots=True)
class BackendType:
    """A kind of backend."""

    create: Callable[[Repositories, Settings], RetrievalBackend]
    filters_stored_chunks: bool = False
    """True if the backend filters by the projection of the document in each chunk's row."""


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """The backend of new knowledge bases, and the reason, for people. `is_away`: the search server does not answer."""

    name: str
    reason: str
    has_search_server: bool = False
    is_away: bool = False


def known_backends() -> tuple[str, ...]:
    """Return the names of all registered backends, sorted."""
    return tuple(sorted({*_BUILT_IN, *_plugins()}))


def backend_type(name: str) -> BackendType | None:
    """Return the registered type of this name, None for an unknown one."""
    if name in _BUILT_IN:
        return importlib.import_module(_BUILT_IN[name]).BACKEND_TYPE
    plugin = _plugins().get(name)
    return None if plugin is None else plugin.load()


def filters_stored_chunks(name: str) -> bool:
    """Return whether the rows of this backend's knowledge bases store the fields that the backend filters by."""
    if name == LOCAL_BACKEND:
        return False
    found = backend_type(name)
    return found is not None and found.filters_stored_chunks


async def choose(indexes: SearchIndexes, settings: SearchSettings) -> BackendChoice:
    """Pick the backend of new knowledge bases from the setting, else by what MongoDB supports.

    If a search server exists and does not answer, wait for it: its knowledge bases do not fit into memory.

    Raises:
        InvalidInputError: the setting names an unknown backend, or MongoDB's own search, which the server lacks.
        TransientError: MongoDB does not answer.
    """
    wanted = settings.vector_store
    setting = f"{SETTING} is `{wanted}`"
    if wanted == LOCAL_BACKEND:
        return BackendChoice(LOCAL_BACKEND, setting)
    if wanted not in (AUTO, MONGODB) and backend_type(wanted) is None:
        known = ", ".join((AUTO, *known_backends()))
        raise InvalidInputError.of_field(SETTING, f"Unknown retrieval backend {wanted!r}. Known ones: {known}.")
    server = await indexes.server()
    if wanted not in (AUTO, MONGODB):
        return BackendChoice(wanted, setting, has_search_server=server.is_there)
    if server.is_there:
        answer = (
            f"has a search server that does not answer: {server.answer}" if server.is_away else "lists search indexes"
        )
        return BackendChoice(
            MONGODB, f"{setting}, and MongoDB {answer}", has_search_server=True, is_away=server.is_away
        )
    if wanted == MONGODB:
        raise InvalidInputError.of_field(
            SETTING,
            f"The setting is `mongodb`, but the server does not list search indexes ({server.answer}). Use Atlas,"
            " or MongoDB 8.2 or newer with mongot, or set it to `auto` or `local`.",
            code="search_server_missing",
        )
    return BackendChoice(LOCAL_BACKEND, f"{setting}, and there is no search server: {server.answer}")


async def open_backends(rows: Repositories, settings: Settings) -> "Backends":
    """Open the backends that the settings and the server allow.

    Raises:
        InvalidInputError: see `choose`.
        TransientError: MongoDB does not answer.
    """
    choice = await choose(rows.search_indexes, settings.search)
    log.info("retrieval_backend.chosen", backend=choice.name, why=choice.reason)
    return Backends(choice, rows, settings)


class Backends:
    """The backends of one process, each created when a knowledge base first needs it.

    A knowledge base keeps the backend it was created for. MongoDB has the rows of all, so the local backend also serves
    knowledge bases whose own backend is not available, and all of them under the setting `local`.
    """

    def __init__(self, choice: BackendChoice, rows: Repositories, settings: Settings) -> None:
        self._choice = choice
        self._rows = rows
        self._settings = settings
        self._created: dict[str, RetrievalBackend] = {}
        self._expected: set[str] = set()

    @property
    def name_of_new(self) -> str:
        """The backend of new knowledge bases."""
        return self._choice.name

    @property
    def has_keywords(self) -> bool:
        """True if this installation has keyword search."""
        return self._settings.lexical.is_enabled

    def of(self, knowledge_base: KnowledgeBase) -> RetrievalBackend:
        """Return the backend that serves a knowledge base."""
        name = knowledge_base.vector_store
        return self._named(name if self._is_served(name) else LOCAL_BACKEND)

    def expect(self, kb_id: str) -> None:
        """Note that the keyword index will soon follow a commit."""
        self._expected.add(kb_id)

    def expect_no_longer(self, kb_id: str) -> None:
        """Note that the keyword index has every expected commit."""
        self._expected.discard(kb_id)

    def is_building_keywords(self, kb_id: str) -> bool:
        """See RetrievalBackend."""
        return kb_id in self._expected or any(backend.is_building_keywords(kb_id) for backend in self._created.values())

    def forget(self, kb_id: str) -> None:
        """See RetrievalBackend."""
        for backend in self._created.values():
            backend.forget(kb_id)

    async def close(self) -> None:
        """See RetrievalBackend."""
        for backend in self._created.values():
            await backend.close()

    def _is_served(self, name: str) -> bool:
        if name == LOCAL_BACKEND or self._settings.search.vector_store == LOCAL_BACKEND:
            return name == LOCAL_BACKEND
        if name == MONGODB:
            return self._choice.has_search_server
        return backend_type(name) is not None

    def _named(self, name: str) -> RetrievalBackend:
        backend = self._created.get(name)
        if backend is None:
            found = backend_type(name)
            assert found is not None  # noqa: S101  # `_is_served` has looked
            backend = self._created[name] = found.create(self._rows, self._settings)
        return backend


@cache
def _plugins() -> dict[str, EntryPoint]:
    """Read the metadata of every installed package once: that takes 8 ms."""
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name not in _BUILT_IN}
