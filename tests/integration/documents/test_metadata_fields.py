"""Declared types of metadata on real rows: written, filtered, declared over what is there, and raced."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from analytiq.errors import ConflictError, InvalidInputError
from analytiq.ingestion.documents.metadata_fields import MOST_NAMED
from analytiq.models.document import Document
from analytiq.models.metadata_field import FieldType, MisfitPolicy
from analytiq.models.organization import Organization
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from tests.integration.tenant import Tenant

Metadata = dict[str, JsonValue]
TYPES = {"year": FieldType.NUMBER, "due": FieldType.DATE, "customer": FieldType.STRING, "paid": FieldType.BOOLEAN}


async def declare(
    tenant: Tenant, types: dict[str, FieldType], *, on_misfit: MisfitPolicy = MisfitPolicy.REFUSE
) -> tuple[int, int]:
    """Declare; how many documents were written anew, and how many values removed."""
    done = await tenant.services.ingestion.metadata_fields.declare(tenant.id, types, on_misfit=on_misfit)
    return done.documents_rewritten, done.values_removed


async def organization_of(tenant: Tenant) -> Organization:
    return await tenant.services.tenancy.organizations.get(tenant.id)


async def metadata_of(tenant: Tenant, document: Document) -> Metadata:
    return (await tenant.services.ingestion.documents.get(tenant.id, document.id)).metadata


async def upload(tenant: Tenant, name: str, metadata: Metadata | None) -> Document:
    return (await tenant.upload(name, f"whales {name}", metadata=metadata)).document


async def listed(tenant: Tenant, raw: Metadata) -> set[str]:
    tree = await tenant.services.retrieval.search.resolve_filter(await organization_of(tenant), raw)
    found, total = await tenant.services.ingestion.documents.page(
        tenant.id, DocumentQuery(filter=compile_filter(tree)), skip=0, limit=100
    )
    assert total == len(found)
    return {document.document_name for document in found}


async def test_a_value_of_another_type_is_refused_when_a_document_is_uploaded_or_changed(tenant: Tenant) -> None:
    await declare(tenant, TYPES)
    with pytest.raises(InvalidInputError, match=r"metadata\.year: Declared as number: expected a number, not '2024'"):
        await upload(tenant, "a.txt", {"year": "2024"})
    document = await upload(tenant, "b.txt", {"year": 2024, "anything": ["else"]})
    with pytest.raises(InvalidInputError) as caught:
        await tenant.services.ingestion.documents.change(
            tenant.id, document.id, metadata={"due": "soon", "paid": "yes"}
        )
    assert [item.field for item in caught.value.errors] == ["metadata.due", "metadata.paid"]
    assert await metadata_of(tenant, document) == {"year": 2024, "anything": ["else"]}
    assert await listed(tenant, {}) == {"b.txt"}


async def test_dates_are_kept_in_utc_however_they_are_sent(tenant: Tenant) -> None:
    await declare(tenant, TYPES)
    document = await upload(tenant, "a.txt", {"due": "2024-01-31T23:00:00-05:00"})
    assert document.metadata == {"due": "2024-02-01T04:00:00.000Z"}
    changed = await tenant.services.ingestion.documents.change(tenant.id, document.id, metadata={"due": ["2024-03-01"]})
    assert changed.metadata == {"due": ["2024-03-01T00:00:00.000Z"]}


async def test_uploading_the_same_date_in_another_spelling_replaces_nothing(tenant: Tenant) -> None:
    await declare(tenant, TYPES)
    first = await upload(tenant, "a.txt", {"due": "2024-01-31"})
    again = await upload(tenant, "a.txt", {"due": "2024-01-31T01:00:00+01:00"})
    assert again.id == first.id
    assert again.rev == first.rev


async def test_a_declaration_over_values_that_do_not_fit_is_refused_and_names_documents(tenant: Tenant) -> None:
    fits = await upload(tenant, "fits.txt", {"year": 2024, "due": "2024-01-31"})
    for number in range(MOST_NAMED + 3):
        await upload(tenant, f"{number}.txt", {"year": str(number)})
    with pytest.raises(InvalidInputError) as caught:
        await declare(tenant, {"year": FieldType.NUMBER, "due": FieldType.DATE})
    assert caught.value.code == "metadata_misfits"
    assert f"{MOST_NAMED + 3} documents" in caught.value.detail
    assert len(caught.value.errors) == MOST_NAMED
    newest = caught.value.errors[0]
    assert newest.field == "fields.year"
    assert f"'{MOST_NAMED + 2}.txt'" in newest.reason
    assert (await organization_of(tenant)).metadata_fields == {}
    assert await metadata_of(tenant, fits) == {"year": 2024, "due": "2024-01-31"}


async def test_a_declaration_that_removes_misfits_takes_only_those_and_writes_dates_anew(tenant: Tenant) -> None:
    both = await upload(tenant, "both.txt", {"year": "2024", "due": "2024-01-31", "note": "n"})
    plain = await upload(tenant, "plain.txt", {"note": "n"})
    unchanged = await upload(tenant, "unchanged.txt", {"year": 2024})
    done = await declare(tenant, {"year": FieldType.NUMBER, "due": FieldType.DATE}, on_misfit=MisfitPolicy.REMOVE)
    assert done == (1, 1)
    assert await metadata_of(tenant, both) == {"due": "2024-01-31T00:00:00.000Z", "note": "n"}
    assert (await tenant.services.ingestion.documents.get(tenant.id, plain.id)).rev == plain.rev
    assert (await tenant.services.ingestion.documents.get(tenant.id, unchanged.id)).rev == unchanged.rev
    assert await declare(tenant, {"year": FieldType.NUMBER, "due": FieldType.DATE}) == (0, 0)


async def test_a_field_that_is_left_out_is_declared_no_longer_and_its_values_stay(tenant: Tenant) -> None:
    await declare(tenant, TYPES)
    document = await upload(tenant, "a.txt", {"year": 2024})
    await declare(tenant, {})
    assert await metadata_of(tenant, document) == {"year": 2024}
    assert (await upload(tenant, "b.txt", {"year": "MMXXIV"})).metadata == {"year": "MMXXIV"}
    assert await listed(tenant, {"year": "MMXXIV"}) == {"b.txt"}


async def test_another_organization_declares_and_writes_by_itself(tenant: Tenant) -> None:
    other_organization = await tenant.services.tenancy.organizations.create("Another")
    tag = await tenant.services.ingestion.tags.create(other_organization.id, name="t", color="#000000", description="")
    other = Tenant(tenant.services, other_organization, tag)
    theirs = await upload(other, "theirs.txt", {"year": "2024", "due": "2024-01-31"})
    assert await declare(tenant, TYPES, on_misfit=MisfitPolicy.REMOVE) == (0, 0)
    assert await metadata_of(other, theirs) == {"year": "2024", "due": "2024-01-31"}


@pytest.mark.parametrize("name", ["", "a.b", "$a", "a$", "a\0", "x" * 101, "\ud800"])
async def test_a_name_that_no_filter_could_say_is_refused(tenant: Tenant, name: str) -> None:
    with pytest.raises(InvalidInputError, match="not a valid name"):
        await declare(tenant, {name: FieldType.STRING})


async def test_odd_names_can_be_declared_written_and_filtered(tenant: Tenant) -> None:
    names = ["with space", "número", "0", "document_name", "metadata", "-"]
    await declare(tenant, dict.fromkeys(names, FieldType.DATE))
    await upload(tenant, "a.txt", dict.fromkeys(names, "2024-01-31"))
    for name in names:
        assert await listed(tenant, {f"metadata.{name}": "2024-01-31T01:00:00+01:00"}) == {"a.txt"}, name


async def test_a_writer_that_commits_after_a_declaration_fits_its_own_document(tenant: Tenant) -> None:
    services, document = tenant.services, await upload(tenant, "a.txt", None)
    sent: Metadata = {"year": "2024", "due": "2024-01-31"}
    kept, before = await services.ingestion.metadata_fields.fitted(tenant.id, sent)
    assert kept == sent
    await declare(tenant, TYPES)

    async def commit(session: Session) -> Document | None:
        return await services.repositories.documents.change(session, tenant.id, document.id, {"metadata": kept})

    committed = await run_in_transaction(services.connection, commit)
    assert committed is not None
    settled = await services.ingestion.metadata_fields.settle(committed, before)
    assert settled.metadata == {"due": "2024-01-31T00:00:00.000Z"}
    assert await metadata_of(tenant, document) == settled.metadata


async def test_after_writers_and_declarations_at_once_every_value_fits(tenant: Tenant) -> None:
    documents = [await upload(tenant, f"{number}.txt", None) for number in range(6)]
    spellings = ["2024-01-31", "2024-01-31T00:00:00+02:00", "2024-01-31T00:00:00.000Z"]

    async def write(number: int) -> None:
        for turn in range(6):
            metadata: Metadata = {"due": spellings[(number + turn) % 3], "year": turn if turn % 2 else str(turn)}
            try:
                await tenant.services.ingestion.documents.change(tenant.id, documents[number].id, metadata=metadata)
            except InvalidInputError as error:
                assert error.code == "metadata_misfit"  # noqa: PT017  # refused from the moment it is declared

    async def declare_often() -> None:
        for types in ({"due": FieldType.DATE}, {}, TYPES, {"due": FieldType.STRING}, TYPES):
            await declare(tenant, types, on_misfit=MisfitPolicy.REMOVE)

    await asyncio.gather(declare_often(), *(write(number) for number in range(len(documents))))
    for document in documents:
        metadata = await metadata_of(tenant, document)
        assert str(metadata.get("due", "T00:00:00.000Z")).endswith("00:00.000Z"), metadata
        assert isinstance(metadata.get("year", 0), int), metadata


async def test_two_declarations_at_once_do_not_mix(tenant: Tenant) -> None:
    declarations = [{"a": FieldType.STRING}, {"b": FieldType.NUMBER}]
    results = await asyncio.gather(*(declare(tenant, one) for one in declarations), return_exceptions=True)
    assert (await organization_of(tenant)).metadata_fields in declarations
    assert all(isinstance(result, ConflictError) or result == (0, 0) for result in results)


DATES = [
    "2024-01-30",
    "2024-01-31",
    "2024-01-31T00:00:00+01:00",
    "2024-01-30T23:00:00.000Z",
    "2024-01-31T00:00:00.0009Z",
    "2024-01-31T00:00:00.001Z",
    "1999-12-31T23:59:59-11:00",
]
VALUES: dict[str, Sequence[JsonValue]] = {
    "due": DATES,
    "year": [0, -1, 2024, 2024.0, 2024.5, 10, 9],
    "customer": ["", "a", "A", "10", "9", "2024-01-31"],
    "paid": [True, False],
}
ORDERS: dict[str, Callable[[int], bool]] = {
    "$eq": lambda order: order == 0,
    "$gt": lambda order: order > 0,
    "$gte": lambda order: order >= 0,
    "$lt": lambda order: order < 0,
    "$lte": lambda order: order <= 0,
}


def read(name: str, value: JsonValue) -> float | str | None:
    """A value as people mean it: a date as milliseconds."""
    if name != "due" or value is None:
        return value  # pyright: ignore[reportReturnType]  # one of VALUES
    moment = datetime.fromisoformat(str(value))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1, 1, 1, tzinfo=UTC)).total_seconds() * 1000 // 1


def passes(raw: Metadata, metadata: Metadata) -> bool:
    """The plain reading of a filter of `raw_filters`."""
    ((name, condition),) = raw.items()
    if name in ("$and", "$or", "$nor"):
        results = [passes(part, metadata) for part in condition]  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues, reportOptionalIterable]
        return all(results) if name == "$and" else any(results) == (name == "$or")
    ((operator, literal),) = condition.items()  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    sent = metadata.get(name)
    values = [read(name, one) for one in (sent if isinstance(sent, list) else [sent] if name in metadata else [])]
    if operator == "$exists":
        return (name in metadata) == literal
    if operator in ("$in", "$nin"):
        wanted = [read(name, one) for one in literal]  # pyright: ignore[reportGeneralTypeIssues, reportOptionalIterable]
        return any(value == one for value in values for one in wanted) == (operator == "$in")
    if operator == "$ne":
        return not any(value == read(name, literal) for value in values)
    known = [value for value in values if (value is None) == (literal is None)]
    return any(ORDERS[operator](_order(value, read(name, literal))) for value in known)


def _order(value: float | str | None, literal: float | str | None) -> int:
    if value == literal:
        return 0
    return 1 if value > literal else -1  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]


@st.composite
def conditions(draw: st.DrawFn) -> Metadata:
    name = draw(st.sampled_from(list(VALUES)))
    literals = st.sampled_from(VALUES[name])
    match draw(st.integers(0, 3)):
        case 0:
            return {name: {draw(st.sampled_from(["$in", "$nin"])): draw(st.lists(literals, min_size=1, max_size=3))}}
        case 1:
            return {name: {"$exists": draw(st.booleans())}}
        case 2:
            return {name: {draw(st.sampled_from(["$eq", "$ne"])): draw(literals | st.none())}}
        case _:
            operators = ["$eq", "$ne"] if name == "paid" else list(ORDERS)
            return {name: {draw(st.sampled_from(operators)): draw(literals)}}


raw_filters: st.SearchStrategy[Metadata] = st.recursive(
    conditions(),
    lambda inner: st.builds(
        lambda name, parts: {name: parts},
        st.sampled_from(["$and", "$or", "$nor"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


@st.composite
def some_metadata(draw: st.DrawFn) -> Metadata:
    metadata: Metadata = {}
    for name in draw(st.sets(st.sampled_from(list(VALUES)))):
        one = st.sampled_from(VALUES[name])
        metadata[name] = draw(one | st.none() | st.lists(one, max_size=3))
    return metadata


@given(
    metadata=st.lists(some_metadata(), min_size=12, max_size=12), raws=st.lists(raw_filters, min_size=15, max_size=15)
)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
async def test_every_way_of_finding_compares_declared_fields_as_people_read_them(
    library: tuple[Tenant, str, list[Document]], metadata: list[Metadata], raws: list[Metadata]
) -> None:
    tenant, kb_id, documents = library
    for document, sent in zip(documents, metadata, strict=True):
        await tenant.services.ingestion.documents.change(tenant.id, document.id, metadata=sent)
    searching = tenant.seen_by(tenant.services)
    searching.organization = await organization_of(tenant)
    for raw in raws:
        expected = {
            document.document_name for document, sent in zip(documents, metadata, strict=True) if passes(raw, sent)
        }
        assert await listed(tenant, raw) == expected, raw
        for mode in (Mode.VECTOR, Mode.LEXICAL):
            answer = await searching.search(kb_id, "whales", top_k=100, mode=mode, filter=parse_filter(raw))
            assert {result.source for result in answer.results} == expected, (mode, raw)


@pytest.fixture
async def library(tenant: Tenant) -> tuple[Tenant, str, list[Document]]:
    """Twelve documents of one chunk each, and all fields declared."""
    await declare(tenant, TYPES)
    kb = await tenant.knowledge_base()
    documents = [await upload(tenant, f"{number}.txt", None) for number in range(12)]
    await tenant.drain()
    return tenant, kb.id, documents
