"""The places of Notion's pages: the pages and databases above each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from analytiq.ingestion.sources.base import FindKnown, KnownItem
from analytiq.ingestion.sources.systems.wikis.json_values import Object, object_of, text_of
from analytiq.ingestion.sources.systems.wikis.notion_api import NotionApi, is_trashed
from analytiq.ingestion.sources.systems.wikis.notion_text import title_of

HIGHEST = 30
"""Most places above a page."""
MOST_KEPT = 50_000
"""Most places in memory."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page, database or block, as its children need it; `title` is None for a block and for a database.

    A database is a container: its data sources carry the title.
    """

    title: str | None
    parent: Object


@dataclass(frozen=True, slots=True)
class Above:
    """The titles above a page, from the root on, the ids of all that is above it, and its nearest parent but blocks."""

    folders: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()
    nearest: Object = field(default_factory=dict[str, JsonValue])


class Places:
    """Looks up places: in this listing, then in the notes of the last run, then in Notion."""

    def __init__(self, api: NotionApi, find_known: FindKnown) -> None:
        self._api = api
        self._find_known = find_known
        self._places: dict[str, Place | None] = {}
        self._nearest: dict[str, Object] = {}
        """Nearest parents of the pages of a batch that stand in a block: columns and toggles cost a call each."""

    def learn(self, things: Sequence[Object]) -> None:
        """Keep the places of pages or data sources of an answer."""
        for thing in things:
            self._keep(text_of(thing.get("id")), place_of(thing))

    async def recall(self, pages: Sequence[Object]) -> None:
        """Look up the notes of the pages of a batch, and of those above them, at once."""
        parents = {text_of(page.get("id")): object_of(page.get("parent")) for page in pages}
        in_blocks = sorted(each for each, parent in parents.items() if parent.get("type") == "block_id")
        notes = await self._notes(in_blocks)
        self._nearest = {each: note.nearest for each, note in notes.items() if note.parent == _texts(parents[each])}
        parents |= self._nearest
        wanted = {text_of(parent.get("page_id")) for parent in parents.values()} - {"", *self._places}
        for _ in range(HIGHEST):
            if not wanted:
                return
            notes = await self._notes(sorted(wanted))
            for each, note in notes.items():
                self._keep(each, Place(note.title, note.nearest))
            wanted = {text_of(note.nearest.get("page_id")) for note in notes.values()} - {"", *self._places}

    async def above(self, page: Object) -> Above:
        """Return what is above a page."""
        folders: list[str] = []
        ids: list[str] = []
        parent = self._nearest.get(text_of(page.get("id"))) or object_of(page.get("parent"))
        nearest: Object = {}
        for _ in range(HIGHEST):
            if not nearest and parent.get("type") != "block_id":
                nearest = parent
            parent_id = text_of(parent.get(text_of(parent.get("type"))))
            if not parent_id or parent_id in ids:
                break
            ids.append(parent_id)
            place = await self._place(parent_id, parent)
            if place is None:
                # The row names its database even if the data source is not shared by itself.
                database_id = text_of(parent.get("database_id"))
                ids += [database_id] if database_id else []
                break
            if place.title is not None:
                folders.append(place.title)
            parent = place.parent
        return Above(tuple(reversed(folders)), frozenset(ids), nearest)

    async def _notes(self, ids: Sequence[str]) -> dict[str, "_Note"]:
        known = await self._find_known(ids) if ids else dict[str, KnownItem]()
        return {each: note for each, item in known.items() if (note := _from_note(item.note)) is not None}

    async def _place(self, place_id: str, named_by: Object) -> Place | None:
        if place_id not in self._places:
            thing = await self._api.parent_of(named_by)
            is_readable = thing is not None and not is_trashed(thing)
            self._keep(place_id, place_of(thing) if thing is not None and is_readable else None)
        return self._places[place_id]

    def _keep(self, place_id: str, place: Place | None) -> None:
        if len(self._places) >= MOST_KEPT:
            self._places.pop(next(iter(self._places)))
        self._places[place_id] = place


def place_of(thing: Object) -> Place:
    """Return the place of a page, database, data source or block."""
    has_title = thing.get("object") in ("page", "data_source")
    return Place(title_of(thing) if has_title else None, object_of(thing.get("parent")))


@dataclass(frozen=True, slots=True)
class _Note:
    """Facts that the next run knows of a page's place."""

    title: str
    parent: Object
    nearest: Object


def note_of(page: Object, above: Above) -> str:
    """Return the note from which the next run reads a page's place."""
    place = place_of(page)
    return json.dumps([(place.title or "")[:500], _texts(place.parent), _texts(above.nearest)])


def _from_note(note: str | None) -> _Note | None:
    try:
        values: JsonValue = json.loads(note or "null")
    except ValueError:
        return None
    match values:
        case [str(title), dict(parent), dict(nearest)]:
            return _Note(title, _texts(parent), _texts(nearest))
        case _:
            return None


def _texts(parent: Object) -> dict[str, JsonValue]:
    return {name: value for name, value in parent.items() if isinstance(value, str)}
