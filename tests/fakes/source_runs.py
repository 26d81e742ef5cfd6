"""Runs of a connector as the engine does them, in memory: what is listed is fetched, compared and known afterwards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from analytiq.errors import AnalytiqError
from analytiq.ingestion.sources.base import Connector, KnownItem, ListedItem, SourceContext
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.settings import SourceSettings

OPERATOR = SourceSettings(private_hosts=("127.0.0.1", "localhost"))


@dataclass(slots=True)
class Ran:
    """The outcome of a run."""

    items: dict[str, ListedItem] = field(default_factory=dict[str, ListedItem])
    fetched: dict[str, str] = field(default_factory=dict[str, str])
    """Content of new and changed items by external id."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    removed: set[str] = field(default_factory=set[str])
    problems: list[str] = field(default_factory=list[str])
    is_delta: bool = False
    error: AnalytiqError | None = None


@dataclass(slots=True)
class SourceRuns:
    """A source with what is known of it."""

    kind: str
    settings: Mapping[str, JsonValue]
    credentials: Mapping[str, JsonValue]
    accepts: Callable[[str], bool] = lambda _: True
    known: dict[str, KnownItem] = field(default_factory=dict[str, KnownItem])
    since: str | None = None
    cursor: str | None = None

    def connect(self) -> Connector:
        """Return a connector."""
        kind = load_kind(self.kind)

        async def find_known(external_ids: Sequence[str]) -> Mapping[str, KnownItem]:
            return {each: self.known[each] for each in external_ids if each in self.known}

        return kind(
            settings=validated(kind.settings_schema, self.settings, field="settings"),
            credentials=validated(kind.credentials_schema, self.credentials, field="credentials"),
            context=SourceContext(
                organization_id="f" * 24,
                operator=OPERATOR,
                find_known=find_known,
                accepts=self.accepts,
                max_item_bytes=1_000_000,
                since=self.since,
            ),
        )

    async def run(self, *, batches: int | None = None) -> Ran:
        """Run to the end, or for some batches; the next run goes on behind them."""
        ran, connector = Ran(), self.connect()
        count = 0
        try:
            listing = connector.list_changes(self.cursor)
            async for batch in listing:
                ran.is_delta = batch.is_delta
                ran.problems += batch.problems
                ran.removed |= set(batch.removed)
                for item in batch.items:
                    await self._take(connector, item, ran)
                self.cursor = batch.cursor
                self.since = batch.next_since or self.since
                count += 1
                if count == batches:
                    await listing.aclose()
                    return ran
        except AnalytiqError as error:
            ran.error = error
            return ran
        finally:
            await connector.close()
        self.cursor = None
        if not ran.is_delta and not ran.problems:
            ran.removed |= self.known.keys() - ran.items.keys() if batches is None else set()
        for external_id in ran.removed:
            self.known.pop(external_id, None)
        return ran

    async def _take(self, connector: Connector, item: ListedItem, ran: Ran) -> None:
        ran.items[item.external_id] = item
        before = self.known.get(item.external_id)
        if item.skip_reason or item.failure:
            ran.failed[item.external_id] = item.skip_reason or item.failure or ""
            return
        if before is not None and before.version == item.version and item.version is not None:
            return
        try:
            fetched = await connector.fetch(item)
            ran.fetched[item.external_id] = b"".join([block async for block in fetched.content]).decode()
        except AnalytiqError as error:
            ran.failed[item.external_id] = error.detail
            return
        self.known[item.external_id] = KnownItem(item.version, item.note)
