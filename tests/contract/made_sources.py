"""Sources of the contract's tests: a kind with a source that has known contents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from analytiq.ingestion.sources.base import Connector, KnownItem, ListedItem, ReadWorkbook, SourceContext
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.settings import SourceSettings

CONTENTS = {
    f"{folder}{number:03}.txt": f"{folder}{number}" for folder in ("", "a/", "a/b/", "z/") for number in range(60)
}


@dataclass(frozen=True, slots=True)
class Made:
    """A kind with a source that has these contents; `open` connects anew, `change` writes an item."""

    kind: str
    open: Callable[[], Connector]
    change: Callable[[str, str], None]
    folder: str = ""
    """The beginning of each item's name."""

    def name_of(self, item: ListedItem) -> str:
        """Return the name of an item among the contents."""
        return item.name.removeprefix(self.folder)

    def text_of(self, content: bytes) -> bytes:
        """Return the text of an item's content, of kinds that make pages of it."""
        return content


async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
    return {}


def opening(
    name: str,
    values: Mapping[str, JsonValue],
    operator: SourceSettings,
    ending: str = "",
    credentials: Mapping[str, JsonValue] | None = None,
    read_workbook: ReadWorkbook | None = None,
) -> Callable[[], Connector]:
    """Return what connects; items end like this."""
    kind = load_kind(name)
    context = SourceContext(
        organization_id="f" * 24,
        operator=operator,
        find_known=nothing_known,
        accepts=lambda path: path.endswith(ending),
        max_item_bytes=1000,
    )
    if read_workbook is not None:
        context = replace(context, read_workbook=read_workbook)
    settings = validated(kind.settings_schema, values, field="settings")
    secrets = validated(kind.credentials_schema, credentials or {}, field="credentials")
    return lambda: kind(settings=settings, credentials=secrets, context=context)
