"""People of a workspace: their names for texts, and who may read a private channel."""

import asyncio
import re
from collections.abc import Iterable

from analytiq.errors import AnalytiqError, RateLimitedError
from analytiq.ingestion.sources.base import ItemAccess
from analytiq.ingestion.sources.systems.slack.api import SlackApi
from analytiq.ingestion.sources.systems.slack.wire import SlackChannel, SlackMessage, SlackUser

MOST_PEOPLE = 10_000
"""Most people whose names are read by list; those of further people are asked for singly."""
MOST_SINGLE = 200
"""Most people that are asked for singly, in one connection."""
MOST_MEMBERS = 1000
"""Most members of a private channel that an item names; a larger channel is named as a group only."""
_MENTIONED = re.compile(r"<@([A-Z0-9]{2,30})[|>]")


class People:
    """Names and addresses of people, read when they are needed."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._users: dict[str, SlackUser | None] | None = None
        self._asked = 0
        self._lock = asyncio.Lock()

    def name_of(self, user_id: str) -> str:
        """Return a person's name; the id if it is not known."""
        user = (self._users or {}).get(user_id)
        return user.label if user else user_id

    async def learn(self, messages: Iterable[SlackMessage]) -> None:
        """Read the names of authors and mentioned people.

        Raises:
            RateLimitedError: Slack wants a wait.
        """
        users = await self._loaded()
        for message in messages:
            for user_id in (message.user, *_MENTIONED.findall(message.text)):
                if user_id and user_id not in users and self._asked < MOST_SINGLE:
                    self._asked += 1
                    users[user_id] = await self._single(user_id)

    async def access_of(self, channel: SlackChannel) -> ItemAccess:
        """Return who may read a channel: everybody of the workspace, or its members."""
        if not channel.is_private:
            return ItemAccess(is_public=True)
        members = await self._api.members(channel.id, most=MOST_MEMBERS)
        if members is None:
            return ItemAccess(groups=(channel.id,))
        users = await self._loaded()
        emails = [user.profile.email if (user := users.get(each)) else None for each in members]
        people = tuple(email or user_id for email, user_id in zip(emails, members, strict=True))
        return ItemAccess(people=people, groups=(channel.id,))

    async def _loaded(self) -> dict[str, SlackUser | None]:
        async with self._lock:
            if self._users is None:
                self._users = {user.id: user for user in await self._api.users(most=MOST_PEOPLE)}
            return self._users

    async def _single(self, user_id: str) -> SlackUser | None:
        try:
            return await self._api.user(user_id)
        except RateLimitedError:
            raise
        except AnalytiqError:
            return None  # the id stands for the name
