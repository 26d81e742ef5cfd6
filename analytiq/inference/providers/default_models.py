"""The models that are used where nobody names one: settings that are kept for the installation.

A key in the environment changes neither. What a start names in ANALYTIQ_EMBEDDING__DEFAULT_MODEL or
ANALYTIQ_LLM__DEFAULT_MODEL is stored, and counts for all processes and later starts that name nothing.
"""

from dataclasses import dataclass

from analytiq.storage.repositories.workers import RuntimeSettingRepository


@dataclass(frozen=True, slots=True)
class DefaultChange:
    """A default that a start has changed, by its variable; `before` None: there was none of its own."""

    variable: str
    before: str | None
    now: str


class DefaultModels:
    """Reads and keeps the defaults."""

    def __init__(self, rows: RuntimeSettingRepository) -> None:
        self._rows = rows

    async def embedding(self) -> str | None:
        """Return the embedding model that was kept; None: the local one."""
        return await self._rows.default_model("embedding")

    async def chat(self) -> str | None:
        """Return the chat model that was kept; None: a small one of the first provider that has a key."""
        return await self._rows.default_model("chat")

    async def plan(self, *, embedding: str | None, chat: str | None) -> list[DefaultChange]:
        """Return which defaults `keep` would change."""
        wanted = (
            ("ANALYTIQ_EMBEDDING__DEFAULT_MODEL", embedding, await self.embedding()),
            ("ANALYTIQ_LLM__DEFAULT_MODEL", chat, await self.chat()),
        )
        return [
            DefaultChange(variable, before, now)
            for variable, now, before in wanted
            if now is not None and now != before
        ]

    async def keep(self, *, embedding: str | None, chat: str | None) -> list[DefaultChange]:
        """Keep the defaults that the settings name; returns those that changed."""
        changes = await self.plan(embedding=embedding, chat=chat)
        if embedding is not None:
            await self._rows.set_default_model("embedding", embedding)
        if chat is not None:
            await self._rows.set_default_model("chat", chat)
        return changes
