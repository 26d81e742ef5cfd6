"""The settings of new threads, and the reader of existing ones."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NewThread:
    """What a caller asks for. None is left to the defaults; a thread without a title is called by its question."""

    kb_ids: tuple[str, ...]
    title: str = ""
    model: str | None = None
    score_threshold: float | None = None
    top_k: int | None = None
    searches_again: bool = True
    token_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Who wants to read: as threads name their owner, and whether they administer the organization."""

    owner: str
    is_administrator: bool

    @property
    def owners(self) -> tuple[str | None, ...]:
        """Whose threads these may read; None: those of before owners were noted, which somebody has to look after."""
        return (self.owner, None) if self.is_administrator else (self.owner,)
