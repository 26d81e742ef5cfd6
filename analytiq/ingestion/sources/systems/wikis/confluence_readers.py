"""Readers of Confluence's pages: restrictions of a page and of all above it, else the readers of its space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytiq.ingestion.sources.base import ItemAccess
from analytiq.ingestion.sources.systems.wikis.confluence_api import PAGE_SIZE, ConfluenceApi, Space
from analytiq.ingestion.sources.systems.wikis.json_values import Object, inner, objects_of, text_of

MOST_KEPT = 100_000
"""Most pages in memory."""
ROUNDS = 3
"""Most look-ups for a batch: the page of a file, then those above it."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The restriction of a content, None without one, and the ids of the pages above."""

    restriction: ItemAccess | None
    above: tuple[str, ...]


class Readers:
    """Looks up restrictions, and keeps them for the pages below."""

    def __init__(self, api: ConfluenceApi) -> None:
        self._api = api
        self._known: dict[str, _Known | None] = {}
        """None: Confluence does not tell of it."""
        self._of_spaces: dict[str, ItemAccess | None] = {}

    async def learn(self, details: Mapping[str, Object]) -> None:
        """Keep the restrictions of contents, and look up those of the pages that hold or precede them."""
        if len(self._known) > MOST_KEPT:
            self._known = {}
        for _ in range(ROUNDS):
            self._known |= {each: _known(content) for each, content in details.items()}
            holders = [text_of(inner(content, "container", "id")) for content in details.values()]
            above = [page_id for each in details if (known := self._known[each]) is not None for page_id in known.above]
            wanted = [each for each in dict.fromkeys([*above, *holders]) if each.isdigit() and each not in self._known]
            if not wanted:
                return
            found: dict[str, Object] = {}
            for start in range(0, len(wanted), PAGE_SIZE):
                found |= await self._api.details_if_told(wanted[start : start + PAGE_SIZE]) or {}
            self._known |= dict.fromkeys(wanted)
            details = {each: found[each] for each in wanted if each in found}

    async def of(self, space: Space, page_id: str) -> ItemAccess | None:
        """Return the readers of a page; None if they are not told."""
        page = self._known.get(page_id)
        if page is None:
            return None
        chain = [page, *(self._known.get(each) for each in page.above)]
        restrictions = [each.restriction for each in chain if each is not None and each.restriction is not None]
        if restrictions:
            return _common(restrictions)
        if None in chain:
            return None
        if space.key not in self._of_spaces:
            self._of_spaces[space.key] = await self._api.readers_of_space(space)
        return self._of_spaces[space.key]


def _known(content: Object) -> _Known:
    above = (text_of(each.get("id")) for each in objects_of(content.get("ancestors")))
    return _Known(_restriction(content), tuple(filter(None, above)))


def _restriction(content: Object) -> ItemAccess | None:
    held = inner(content, "restrictions", "read", "restrictions")
    people = [_person(each) for each in objects_of(inner(held, "user", "results"))]
    named = objects_of(inner(held, "group", "results"))
    groups = [text_of(each.get("name")) or text_of(each.get("id")) for each in named]
    if not people and not groups:
        return None
    return ItemAccess(people=tuple(filter(None, people)), groups=tuple(filter(None, groups)))


def _common(restrictions: Sequence[ItemAccess]) -> ItemAccess:
    """Return who is named by all restrictions.

    A member of a group in one of them who is named in another is left out: Confluence does not tell members here.
    """
    first, *others = restrictions
    people = [each for each in first.people if all(each in other.people for other in others)]
    groups = [each for each in first.groups if all(each in other.groups for other in others)]
    return ItemAccess(people=tuple(people), groups=tuple(groups))


def _person(user: Object) -> str:
    names = ("email", "accountId", "username", "userKey")
    return next((text for each in names if (text := text_of(user.get(each)))), "")
