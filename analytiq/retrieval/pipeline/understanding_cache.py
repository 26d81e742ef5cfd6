"""A cache of understood questions, so that a repeated question costs one call."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from analytiq.retrieval.pipeline.ports import Understood

ORGANIZATIONS = 256
"""Most organizations cached, the most recently active."""
QUESTIONS = 256
"""Most questions cached for each; a question with a hypothetical answer takes about 4 kB."""

Key = tuple[str, str]
"""The model and all of its input."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    understood: Understood
    until: float


class UnderstandingCache:
    """Understood questions by organization, in this process, with an expiry.

    Equal concurrent questions share one call. Failures are not cached.
    """

    def __init__(self, *, seconds: float) -> None:
        self._seconds = seconds
        self._by_organization: OrderedDict[str, OrderedDict[Key, _Remembered]] = OrderedDict()
        self._asking: WeakValueDictionary[tuple[str, Key], asyncio.Lock] = WeakValueDictionary()

    async def get(self, organization_id: str, key: Key, ask: Callable[[], Awaitable[Understood]]) -> Understood:
        """Return the cached value, else ask the model and cache the answer."""
        if self._seconds <= 0:
            return await ask()
        lock = self._asking.setdefault((organization_id, key), asyncio.Lock())
        async with lock:
            known = self._of(organization_id).get(key)
            if known is not None and known.until > asyncio.get_running_loop().time():
                self._of(organization_id).move_to_end(key)
                return known.understood
            understood = await ask()
            questions = self._of(organization_id)
            questions[key] = _Remembered(understood, asyncio.get_running_loop().time() + self._seconds)
            questions.move_to_end(key)
            if len(questions) > QUESTIONS:
                questions.popitem(last=False)
            return understood

    def _of(self, organization_id: str) -> OrderedDict[Key, _Remembered]:
        questions = self._by_organization.setdefault(organization_id, OrderedDict())
        self._by_organization.move_to_end(organization_id)
        if len(self._by_organization) > ORGANIZATIONS:
            self._by_organization.popitem(last=False)
        return questions
