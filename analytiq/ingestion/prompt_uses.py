"""The treatment of prompts when their tag or knowledge base is deleted.

The deletion and the prompts change in one transaction. A new prompt writes to the rows that it refers to, so
that the two conflict: no prompt can refer to a deleted row.
"""

from enum import StrEnum

from analytiq.errors import ConflictError
from analytiq.models.prompt import Prompt
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session

NAMED_AT_MOST = 5


class OnUse(StrEnum):
    """The reaction to prompts that use a tag or knowledge base to be deleted."""

    REFUSE = "refuse"
    DETACH = "detach"
    """Give each of them a further version, without it."""


class PromptUses:
    """Prompts by their references."""

    def __init__(self, rows: Repositories) -> None:
        self._prompts = rows.prompts

    async def release_tag(self, session: Session, organization_id: str, tag_id: str, on_use: OnUse) -> None:
        """Remove a tag from the prompts that run on it.

        Raises:
            ConflictError: there are some, and `on_use` is to refuse; names them (code `tag_in_use`).
        """
        using = await self._prompts.using(session, organization_id, tag_id=tag_id)
        _require_allowed(using, on_use, what="tag", code="tag_in_use")
        for prompt in using:
            await self._prompts.add_version(session, prompt, prompt.configuration.without_tag(tag_id))

    async def release_knowledge_base(self, session: Session, organization_id: str, kb_id: str, on_use: OnUse) -> None:
        """Remove a knowledge base from the prompts that search in it.

        Raises:
            ConflictError: there are some, and `on_use` is to refuse; names them (code `knowledge_base_in_use`).
        """
        using = await self._prompts.using(session, organization_id, kb_id=kb_id)
        _require_allowed(using, on_use, what="knowledge base", code="knowledge_base_in_use")
        for prompt in using:
            await self._prompts.add_version(session, prompt, prompt.configuration.without_knowledge_base())


def _require_allowed(using: list[Prompt], on_use: OnUse, *, what: str, code: str) -> None:
    if not using or on_use is OnUse.DETACH:
        return
    named = ", ".join(repr(prompt.name) for prompt in using[:NAMED_AT_MOST])
    more = f" and {len(using) - NAMED_AT_MOST} more" if len(using) > NAMED_AT_MOST else ""
    raise ConflictError(
        f"The {what} is used by the prompts {named}{more}. Change or delete them first, or send `on_use=detach`,"
        " which makes a further version of each without it.",
        code=code,
    )
