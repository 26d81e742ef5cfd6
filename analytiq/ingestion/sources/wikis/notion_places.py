"""The places of Notion's pages: the pages and databases above each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from analytiq.ingestion.sources.base import FindKnown
from analytiq.ingestion.sources.wikis.json_values import Object, object_of, text_of
from analytiq.ingestion.sources.wikis.notion_api import NotionApi, is_trashed
from analytiq.ingestion.sources.wikis.notion_text import title_of

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
    """The titles above a page, from the root on, and the ids of all that is above it."""

    folders: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()


class Places:
    """Looks up places: in this listing, then in the notes of the last run, then in Notion."""

    def __init__(self, api: NotionApi, find_known: FindKnown) -> None:
        self._api = api
        self._find_known = find_known
        self._places: dict[str, Place | None] = {}

    def learn(self, things: Sequence[Object]) -> None:
        """Keep the places of pages or data sources of an answer."""
        for thing in things:
            self._keep(text_of(thing.get("id")), place_of(thing))

    async def recall(self, parents: Sequence[Object]) -> None:
        """Look up the notes of several pages, and of those above them, at once."""
        wanted = {text_of(parent.get("page_id")) for parent in parents} - {"", *self._places}
        for _ in range(HIGHEST):
            if not wanted:
                return
            known = await self._find_known(sorted(wanted))
            found = {each: place for each, item in known.items() if (place := _from_note(item.note)) is not None}
            for each, place in found.items():
                self._keep(each, place)
            wanted = {text_of(place.parent.get("page_id")) for place in found.values()} - {"", *self._places}

    async def above(self, page: Object) -> Above:
        """Return what is above a page."""
        folders: list[str] = []
        ids: list[str] = []
        parent = object_of(page.get("parent"))
        for _ in range(HIGHEST):
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
        return Above(tuple(reversed(folders)), frozenset(ids))

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


def note_of(page: Object) -> str:
    """Return the note from which the next run reads a page's place."""
    place = place_of(page)
    return json.dumps([(place.title or "")[:500], dict(place.parent)])


def _from_note(note: str | None) -> Place | None:
    try:
        values: JsonValue = json.loads(note or "null")
    except ValueError:
        return None
    match values:
        case [str(title), dict(parent)]:
            return Place(title, _texts(parent))
        case _:
            return None


def _texts(parent: Mapping[str, JsonValue]) -> Object:
    return {name: value for name, value in parent.items() if isinstance(value, str)}
