"""The settings of new threads, and the reader of existing ones."""

from dataclasses import dataclass

from analytiq.retrieval.pipeline.details import SMALL


@dataclass(frozen=True, slots=True)
class NewThread:
    """Settings of a new thread. None takes the default; a thread without a title is named by its first question."""

    kb_ids: tuple[str, ...]
    title: str = ""
    model: str | None = None
    score_threshold: float | None = None
    top_k: int | None = None
    searches_again: bool = True
    include: tuple[str, ...] = SMALL
    token_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: the owners that they may read as, and their right to administer."""

    owner: str
    is_administrator: bool

    @property
    def owners(self) -> tuple[str | None, ...]:
        """Return the owners whose threads the reader may see; None stands for threads without an owner."""
        return (self.owner, None) if self.is_administrator else (self.owner,)
