"""Connectors of stored sources: settings, decrypted credentials, and what they may use."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import structlog
from pydantic import JsonValue, SecretStr

from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.sources.base import Connector, KnownItem, NoCredentials, SourceContext
from analytiq.ingestion.sources.configuration.workbooks import Workbooks
from analytiq.ingestion.sources.patterns import accepting
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.models.source import Source
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories

log = structlog.get_logger(__name__)


class Connectors:
    """Opens connectors."""

    def __init__(self, rows: Repositories, vault: Vault, settings: Settings, workbooks: Workbooks) -> None:
        self._items = rows.source_items
        self._sources = rows.sources
        self._vault = vault
        self._workbooks = workbooks
        self.operator = settings.sources
        """The server's settings of sources."""
        self._max_upload_bytes = settings.api.max_upload_bytes

    def open(
        self, source: Source, *, since: str | None = None, note_answer: Callable[[], None] | None = None
    ) -> Connector:
        """Create the connector of a source, without connecting; it may list the changes since a position.

        Raises:
            InvalidInputError: the kind is not installed, or its schema no longer accepts the settings.
            AccessDeniedError: the credentials were encrypted under another secret key.
        """
        kind, context = load_kind(source.kind), self._context(source, since)
        return kind(
            settings=validated(kind.settings_schema, source.settings, field="settings"),
            credentials=validated(kind.credentials_schema, self.credentials_of(source), field="credentials"),
            context=context if note_answer is None else replace(context, note_answer=note_answer),
        )

    def sealed(self, kind: str, credentials: Mapping[str, JsonValue]) -> str | None:
        """Validate and encrypt credentials; None if there are none.

        Raises:
            InvalidInputError: the kind does not accept them.
        """
        schema = load_kind(kind).credentials_schema
        validated(schema, credentials, field="credentials")
        if not credentials or schema is NoCredentials:
            return None
        return self._vault.encrypt(SecretStr(json.dumps(dict(credentials))))

    def max_item_bytes(self, source: Source) -> int:
        """Return the most bytes of an item of the source."""
        return min(self._max_upload_bytes, source.filters.max_item_bytes or self._max_upload_bytes)

    def credentials_of(self, source: Source) -> dict[str, JsonValue]:
        """Return the decrypted credentials of a source."""
        if source.credentials is None:
            return {}
        found: dict[str, JsonValue] = json.loads(self._vault.decrypt(source.credentials).get_secret_value())
        return found

    def _context(self, source: Source, since: str | None) -> SourceContext:
        credentials = self.credentials_of(source)

        async def find_known(external_ids: Sequence[str]) -> Mapping[str, KnownItem]:
            known = await self._items.with_external_ids(source.organization_id, source.id, external_ids)
            return {external_id: KnownItem(version=item.version, note=item.note) for external_id, item in known.items()}

        async def keep_credentials(renewed: Mapping[str, JsonValue]) -> None:
            merged = {**credentials, **renewed}
            sealed = self.sealed(source.kind, merged)
            credentials.update(merged)
            # A source that does not exist yet has no row, and nothing is stored.
            if sealed is not None and not await self._sources.keep_credentials(source, sealed):
                log.info("sources.renewed_credentials_dropped", source_id=source.id)

        return SourceContext(
            organization_id=source.organization_id,
            operator=self.operator,
            find_known=find_known,
            accepts=accepting(source.filters),
            max_item_bytes=self.max_item_bytes(source),
            since=since,
            keep_credentials=keep_credentials,
            read_workbook=self._workbooks.reader_for(source.organization_id),
        )
