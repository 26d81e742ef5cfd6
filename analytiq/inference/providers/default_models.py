"""The default models, stored as settings of the installation.

A key in the environment changes neither. A start with ANALYTIQ_EMBEDDING__DEFAULT_MODEL or ANALYTIQ_LLM__DEFAULT_MODEL
stores its value for all processes and for later starts without one.
"""

from dataclasses import dataclass

from analytiq.storage.repositories.workers import RuntimeSettingRepository


@dataclass(frozen=True, slots=True)
class DefaultChange:
    """A default changed by a start, under its variable; `before` None: there was none."""

    variable: str
    before: str | None
    now: str


class DefaultModels:
    """Store of the defaults."""

    def __init__(self, rows: RuntimeSettingRepository) -> None:
        self._rows = rows

    async def embedding(self) -> str | None:
        """Return the stored embedding model; None: the local one."""
        return await self._rows.default_model("embedding")

    async def chat(self) -> str | None:
        """Return the stored chat model; None: a small one of the first provider with a key."""
        return await self._rows.default_model("chat")

    async def plan(self, *, embedding: str | None, chat: str | None) -> list[DefaultChange]:
        """Return the defaults that `keep` would change."""
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
        """Store the defaults named by the settings; return the changed ones."""
        changes = await self.plan(embedding=embedding, chat=chat)
        if embedding is not None:
            await self._rows.set_default_model("embedding", embedding)
        if chat is not None:
            await self._rows.set_default_model("chat", chat)
        return changes
