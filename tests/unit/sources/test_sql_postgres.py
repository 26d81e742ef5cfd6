"""Database sources against a real PostgreSQL, where it is installed."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from analytiq.errors import AnalytiqError, InvalidInputError, TransientError
from analytiq.ingestion.sources.base import Connector, ListedBatch, SourceContext
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds.sql import SqlConnector
from analytiq.ingestion.sources.registry import validated
from analytiq.ingestion.sources.systems.sql.connection import QueryRefusedError
from analytiq.settings import SourceSettings
from tests.contract.made_sources import nothing_known
from tests.fakes.dovecot import HOST
from tests.fakes.postgres import PASSWORD, PROGRAM, USER, Postgres

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PostgreSQL is not installed: apt-get install postgresql")
TABLES = """
CREATE TABLE customers (id integer PRIMARY KEY, "Name" text, notes text, updated timestamptz DEFAULT now());
INSERT INTO customers SELECT n, 'Customer ' || n, 'Wants 50% off: ' || n, '2026-01-01' FROM generate_series(1, 450) n;
CREATE TABLE lines (order_id uuid, place integer, article text, price numeric, updated timestamp);
INSERT INTO lines VALUES
  ('00000000-0000-0000-0000-000000000001', 1, 'Chair', 12.50, '2026-01-01'),
  ('00000000-0000-0000-0000-000000000001', 2, 'Table', 99.00, '2026-01-02'),
  ('00000000-0000-0000-0000-000000000002', 1, 'Lamp', 5, '2026-01-01');
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres() as running:
        running.run(TABLES)
        yield running


def opened(server: Postgres, *, since: str | None = None, **changed: Any) -> SqlConnector:
    password = changed.pop("password", PASSWORD)
    private_hosts = changed.pop("private_hosts", (HOST, "127.0.0.1"))
    values: Mapping[str, Any] = {
        "host": HOST,
        "port": server.port,
        "database": "postgres",
        "user": USER,
        "ca_certificate": server.certificate,
        "query": "SELECT * FROM customers",
        "key_columns": ["id"],
        "title_column": "name",
        **changed,
    }
    context = SourceContext(
        organization_id="f" * 24,
        operator=SourceSettings(private_hosts=private_hosts),
        find_known=nothing_known,
        accepts=lambda _: True,
        max_item_bytes=100_000,
        since=since,
    )
    settings = validated(SqlConnector.settings_schema, values, field="settings")
    secrets = validated(SqlConnector.credentials_schema, {"password": password}, field="credentials")
    return SqlConnector(settings=settings, credentials=secrets, context=context)


async def batches_of(connector: Connector, cursor: str | None = None) -> list[ListedBatch]:
    try:
        return [batch async for batch in connector.list_changes(cursor)]
    finally:
        await connector.close()


async def text_of(connector: Connector, external_id: str) -> str:
    try:
        item = await connector.find(external_id)
        assert item is not None
        fetched = await connector.fetch(item)
        return b"".join([block async for block in fetched.content]).decode()
    finally:
        await connector.close()


async def test_rows_become_documents_over_tls(server: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    batches = await batches_of(opened(server))
    assert not caplog.records
    items = [item for batch in batches for item in batch.items]
    assert [item.external_id for item in items] == [str(number) for number in range(1, 451)]
    assert items[0].name == "Customer 1.md"
    assert await text_of(opened(server), "7") == (
        "# Customer 7\n\n- **id:** 7\n- **notes:** Wants 50% off: 7\n- **updated:** 2026-01-01 00:00:00+00:00\n"
    )


async def test_listing_goes_on_behind_every_cursor(server: Postgres) -> None:
    batches = await batches_of(opened(server))
    assert len(batches) > 3
    rest = await batches_of(opened(server), batches[1].cursor)
    assert [batch.items for batch in rest] == [batch.items for batch in batches[2:]]


async def test_rows_of_a_key_are_one_document(server: Postgres) -> None:
    settings: dict[str, Any] = {
        "query": "SELECT * FROM lines",
        "key_columns": ["order_id"],
        "title_column": None,
        "template": "{article} for {PRICE} ({none})",
        "metadata_columns": ["updated"],
    }
    [batch, _] = await batches_of(opened(server, **settings))
    first, second = batch.items
    assert first.fields["updated"] == "2026-01-01 00:00:00"
    assert await text_of(opened(server, **settings), first.external_id) == (
        "# 00000000-0000-0000-0000-000000000001\n\n## Row 1\n\nChair for 12.50 ({none})\n\n"
        "## Row 2\n\nTable for 99.00 ({none})\n"
    )
    assert await text_of(opened(server, **settings), second.external_id) == (
        "# 00000000-0000-0000-0000-000000000002\n\nLamp for 5 ({none})\n"
    )


async def test_later_run_lists_documents_with_updated_rows_whole(server: Postgres) -> None:
    settings: dict[str, Any] = {"query": "SELECT * FROM lines", "key_columns": ["order_id"], "title_column": None}
    settings |= {"updated_column": "updated", "overlap_seconds": 0}
    since = (await batches_of(opened(server, **settings)))[-1].next_since
    assert since is not None
    listed = await batches_of(opened(server, since=since, **settings))
    assert all(batch.is_delta for batch in listed)
    assert [item.external_id for item in listed[0].items] == ['{"uuid": "00000000-0000-0000-0000-000000000001"}']
    assert listed[-1].next_since == since
    assert "Chair" in await text_of(opened(server, **settings), listed[0].items[0].external_id)


async def test_delta_of_times_with_a_zone(server: Postgres) -> None:
    settings: dict[str, Any] = {"updated_column": "updated", "overlap_seconds": 60}
    since = (await batches_of(opened(server, **settings)))[-1].next_since
    server.run("UPDATE customers SET updated = '2026-01-01 00:30+01' WHERE id = 5;")
    listed = await batches_of(opened(server, since=since, **settings))
    assert "5" not in [item.external_id for batch in listed for item in batch.items]
    server.run("UPDATE customers SET updated = '2026-01-01' WHERE id = 5;")
    listed = await batches_of(opened(server, since=since, **settings))
    assert "5" in [item.external_id for batch in listed for item in batch.items]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT set_config('transaction_read_only', 'off', false) AS id, '' AS name",
        "SELECT nextval('numbers') AS id, '' AS name",
        "WITH gone AS (DELETE FROM customers RETURNING id) SELECT id, '' AS name FROM gone",
        "SELECT id, '' AS name FROM customers FOR UPDATE",
        "SELECT missing FROM customers",
        "SELECT pg_sleep(5)::text AS id, '' AS name",
    ],
)
async def test_queries_that_write_or_last_are_refused_by_the_database(server: Postgres, query: str) -> None:
    server.run("CREATE SEQUENCE IF NOT EXISTS numbers;")
    connector = opened(server, query=query, timeout_seconds=1)
    with pytest.raises(QueryRefusedError):
        await connector.check()
    await connector.close()
    assert server.run("SELECT count(*) FROM customers") == "450"


async def test_transaction_is_never_committed(server: Postgres) -> None:
    # This version of the server lets a read-only transaction make large objects.
    connector = opened(server, query="SELECT lo_create(77) AS id, '' AS name")
    await connector.check()
    await connector.close()
    assert server.run("SELECT count(*) FROM pg_largeobject_metadata") == "0"


async def test_several_statements_are_refused_by_the_protocol_too(server: Postgres) -> None:
    connector = opened(server)
    escaped = "SELECT 1 AS id) AS a; DROP TABLE customers; SELECT * FROM (SELECT 1 AS id"
    connector._settings = connector._settings.model_copy(update={"query": escaped})
    with pytest.raises(QueryRefusedError, match="multiple commands"):
        await connector.check()
    await connector.close()
    assert server.run("SELECT count(*) FROM customers") == "450"


async def test_texts_of_queries_stay_as_they_are(server: Postgres) -> None:
    query = "SELECT 1 AS id, '100%s :a ::b %% \\:c' || $a$ ' $1 ; ( $a$ AS name -- it's ; :d\n, 7 % 4 AS three /* ' */"
    connector = opened(server, query=query)
    assert await text_of(connector, "1") == ("# 100%s :a ::b %% \\\\:c ' $1 ; (\n\n- **id:** 1\n- **three:** 3\n")


async def test_wrong_password_database_and_column_are_told(server: Postgres) -> None:
    wrong: list[tuple[dict[str, Any], type[AnalytiqError]]] = [
        ({"password": "wrong"}, CredentialsRefusedError),
        ({"database": "none"}, QueryRefusedError),
        ({"key_columns": ["none"]}, InvalidInputError),
        ({"query": "SELECT ARRAY[1] AS id, '' AS name"}, InvalidInputError),
    ]
    for changed, error in wrong:
        connector = opened(server, **changed)
        with pytest.raises(error) as refused:
            await connector.check()
        assert PASSWORD not in refused.value.detail
        await connector.close()


async def test_certificates_are_verified_for_the_host(server: Postgres) -> None:
    for changed in ({"ca_certificate": ""}, {"host": "127.0.0.1"}):
        connector = opened(server, **changed)
        with pytest.raises(TransientError, match="No secure connection"):
            await connector.check()
        await connector.close()


async def test_private_addresses_need_the_word_of_the_operator(server: Postgres) -> None:
    for changed in ({"tls": "verify"}, {"tls": "none"}):
        connector = opened(server, private_hosts=(), **changed)
        with pytest.raises(ForbiddenAddressError):
            await connector.check()
        await connector.close()


async def test_connection_that_the_server_ends_is_opened_again(server: Postgres) -> None:
    connector = opened(server)
    listing = connector.list_changes(None)
    first = await anext(listing)
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    with pytest.raises(TransientError):
        await connector.find("1")
    assert await connector.find("1") == first.items[0]
    await listing.aclose()
    await connector.close()
