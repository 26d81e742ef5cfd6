"""The contract of every retrieval backend: local, MongoDB's behind the emulator, a plug-in, and a real server."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytiq.errors import InvalidInputError
from analytiq.models.index_types import IndexType, first_index_of, index_type_at
from analytiq.retrieval.backends.mongodb import hits
from analytiq.retrieval.filters.tree import (
    EVERYTHING,
    And,
    BuiltInField,
    Comparator,
    Comparison,
    Filter,
    In,
    MetadataField,
    Or,
)
from analytiq.storage.ids import new_id
from tests.contract.conftest import Serving
from tests.contract.shelf import Found, Shelf, vectors
from tests.made_filters import IDS, a_document, chunk_filters

Place = tuple[str, int]

QUERY = vectors(1)[0]
MADE = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def alike(found: Found, expected: Found) -> None:
    """Hold the chunks, their scores and their order to the expected ones.

    Stores add up in different orders, so equal vectors may differ in their last digits: those may change places.
    """
    scores = {row[:2]: row[2] for row in expected}
    assert sorted(row[:2] for row in found) == sorted(scores)
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected], abs=2e-5)
    assert [row[2] for row in found] == pytest.approx([scores[row[:2]] for row in found], abs=2e-5)


async def test_an_empty_knowledge_base_has_nothing_to_find(shelf: Shelf) -> None:
    assert await shelf.found(QUERY) == []
    assert await shelf.counted() == 0


async def test_the_nearest_come_first_with_half_of_one_plus_the_cosine_as_relevance(shelf: Shelf) -> None:
    for document_id in IDS[:4]:
        await shelf.put(a_document(document_id), vectors(5) * 7)
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    alike(await shelf.found(QUERY, limit=3), shelf.expected(QUERY, limit=3))
    assert await shelf.counted() == 20


async def test_ties_are_in_the_order_of_document_and_chunk(shelf: Shelf) -> None:
    same = np.tile(vectors(1), (3, 1))
    for document_id in reversed(IDS[:3]):
        await shelf.put(a_document(document_id), same)
    found = [row[:2] for row in await shelf.found(QUERY)]
    assert found == [(document_id, place) for document_id in IDS[:3] for place in range(3)]


async def test_pages_of_equal_results_follow_each_other(shelf: Shelf) -> None:
    same = np.tile(vectors(1), (20, 1))
    for document_id in reversed(IDS[:3]):
        await shelf.put(a_document(document_id), same)
    ordered = [(document_id, place) for document_id in IDS[:3] for place in range(20)]
    for limit in (1, 7, 20, 33):
        assert [row[:2] for row in await shelf.found(QUERY, limit=limit)] == ordered[:limit]


async def test_a_vector_without_a_direction_holds_nothing_up(shelf: Shelf) -> None:
    rows = vectors(4)
    rows[1] = 0.0
    await shelf.put(a_document(IDS[0]), rows)
    found = [row for row in await shelf.found(QUERY) if row[1] != 1]
    alike(found, [row for row in shelf.expected(QUERY) if row[1] != 1])
    await shelf.put(a_document(IDS[1]), np.zeros((2, len(QUERY)), dtype=np.float32))
    found = [row for row in await shelf.found(QUERY) if row[0] == IDS[0] and row[1] != 1]
    alike(found, [row for row in shelf.expected(QUERY) if row[0] == IDS[0] and row[1] != 1])


async def test_what_was_committed_is_found_and_what_was_taken_out_is_not(shelf: Shelf) -> None:
    first, second = a_document(IDS[0]), a_document(IDS[1])
    await shelf.put(first, vectors(2))
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    await shelf.put(second, vectors(3))
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    await shelf.put(first, vectors(4))
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    assert await shelf.counted() == 7
    await shelf.take_out(second.id)
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    assert await shelf.counted() == 4


async def test_what_is_only_staged_is_not_found(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), vectors(2))
    await shelf.stage(a_document(IDS[1]), np.tile(QUERY, (30, 1)))
    alike(await shelf.found(QUERY, limit=2), shelf.expected(QUERY, limit=2))


async def test_a_page_of_results_is_full_although_older_generations_are_nearer(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), np.tile(QUERY, (40, 1)))
    await shelf.put(a_document(IDS[0]), vectors(12))
    alike(await shelf.found(QUERY, limit=10), shelf.expected(QUERY, limit=10))


async def test_an_empty_set_of_documents_has_nothing(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), vectors(2))
    nobody = In(BuiltInField.DOCUMENT_ID, ())
    assert await shelf.found(QUERY, tree=nobody) == []
    assert await shelf.counted(nobody) == 0


async def test_index_types_are_filtered_inside_and_counted(keyed: Shelf) -> None:
    by_type = {"paragraph": 3, "section": 2, "website": 1}
    for document_id in IDS[:2]:
        await keyed.put(a_document(document_id), vectors(6), ["whales"] * 6, by_type=by_type)
    everything = [first_index_of(one) + number for one in IndexType for number in range(by_type[one])]
    assert sorted(row[1] for row in await keyed.found(QUERY)) == sorted([*everything, *everything])
    reader, only = await keyed.reader(), In(BuiltInField.DOCUMENT_ID, (IDS[1],))
    for index_types in ((IndexType.SECTION,), (IndexType.PARAGRAPH, IndexType.WEBSITE), tuple(IndexType)):
        for tree, documents in ((EVERYTHING, IDS[:2]), (only, [IDS[1]])):
            wanted = sorted(
                (document_id, place)
                for document_id in documents
                for place in everything
                if index_type_at(place) in index_types
            )
            chosen = await keyed.filter(tree)
            assert chosen is not None
            chunk_filter = chosen.of_types(index_types)
            nearest = await reader.vector_search(QUERY, limit=100, chunk_filter=chunk_filter)
            assert sorted((hit.document_id, hit.chunk_index) for hit in nearest) == wanted
            matching = await reader.keyword_search("whales", limit=100, chunk_filter=chunk_filter)
            assert sorted((hit.document_id, hit.chunk_index) for hit in matching) == wanted
            assert await reader.count(chunk_filter=chunk_filter) == len(wanted)


async def test_another_organization_finds_nothing(shelf: Shelf, serving: Serving, tmp_path: Path) -> None:
    await shelf.put(a_document(IDS[0]), vectors(2))
    foreign = shelf.knowledge_base.model_copy(update={"organization_id": "o2"})
    backend = serving.backend(tmp_path / "other", with_keywords=False)
    reader = backend.reader(foreign, await shelf.epoch())
    assert await reader.vector_search(QUERY, limit=5, chunk_filter=None) == []
    place = (await (await shelf.reader()).vector_search(QUERY, limit=1, chunk_filter=None))[0]
    chunk = (place.generation_id, place.chunk_index)
    assert await reader.scores(QUERY, [chunk]) == {}
    await backend.close()


async def test_the_relevance_of_a_chunk_is_what_a_search_says(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), vectors(4))
    reader = await shelf.reader()
    answer = await reader.vector_search(QUERY, limit=4, chunk_filter=None)
    chunks = {(hit.generation_id, hit.chunk_index): hit.relevance for hit in answer}
    asked = [*chunks, (new_id(), 0)]
    assert await reader.scores(QUERY, asked) == pytest.approx(chunks, abs=1e-5)


NUMBER, WORD = MetadataField(("number",)), MetadataField(("word",))


@pytest.fixture
async def library(shelf: Shelf) -> Shelf:
    """Six documents of three chunks, whose metadata the made filters ask for."""
    metadata: list[dict[str, object]] = [
        {"a": 1, "b": "a"},
        {"a": [1, "b", None], "b": {"a": 2.0}},
        {"a": {"b": ["a", {"0": True}]}, "0": 2**53 + 1},
        {"b": [], "-1": "$gt"},
        {"a": [{"b": 1}, {"b": [2, "ab"]}], "00": False},
        {},
    ]
    for document_id, attached in zip(IDS, metadata, strict=True):
        tags = {"tag_ids": ("2024",) if "b" in attached else (), "metadata": attached}
        await shelf.put(a_document(document_id).model_copy(update=tags), vectors(3))
    return shelf


@pytest.mark.parametrize("named", [hits.MOST_DOCUMENTS_NAMED, -1], ids=["by ids", "by what chunks carry"])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(tree=chunk_filters)
async def test_filters_let_through_what_a_plain_reading_does(
    library: Shelf, monkeypatch: pytest.MonkeyPatch, named: int, tree: Filter
) -> None:
    monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
    alike(await library.found(QUERY, tree=tree), library.expected(QUERY, tree=tree))
    assert await library.counted(tree) == len(library.expected(QUERY, tree=tree))


MANY_VECTORS = {"local": 100_000, "emulator": 10_000, "sqlite": 2_000, "server": 100_000}
"""Chunks; the emulator goes through them one by one."""


async def test_a_filter_that_one_of_many_near_identical_chunks_passes_finds_it(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = MANY_VECTORS[shelf.name]
    for number in range(10):
        rows = np.tile(QUERY, (count // 10, 1)) + vectors(count // 10) * 0.01
        document = a_document(new_id(), number=number).model_copy(update={"document_name": f"{number}"})
        await shelf.put(document, rows)
    await shelf.put(a_document(IDS[0], number=99), -QUERY[np.newaxis])
    # The graph is asked, and not an exact scan, where so many are there.
    shelf.knowledge_base = shelf.knowledge_base.model_copy(update={"chunk_count": 100_001})
    trees = [
        Comparison(NUMBER, Comparator.GREATER, 11),
        Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "invoice.pdf"),
        In(BuiltInField.DOCUMENT_ID, (IDS[0],)),
        And((Comparison(NUMBER, Comparator.EQUAL, 99), Comparison(BuiltInField.PAGE, Comparator.LESS, 2))),
        Or((Comparison(NUMBER, Comparator.EQUAL, 99), Comparison(WORD, Comparator.EQUAL, "none"))),
    ]
    for named in (hits.MOST_DOCUMENTS_NAMED, -1):
        monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
        for tree in trees:
            assert [row[:2] for row in await shelf.found(QUERY, limit=10, tree=tree)] == [(IDS[0], 0)]
            assert await shelf.counted(tree) == 1


async def test_asking_deeper_than_the_store_can_look_is_right_or_refused(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "MOST_FOUND", 50)
    await shelf.put(a_document(IDS[0]), vectors(60))
    alike(await shelf.found(QUERY, limit=50), shelf.expected(QUERY, limit=50))
    if shelf.name in ("local", "sqlite"):
        alike(await shelf.found(QUERY, limit=55), shelf.expected(QUERY, limit=55))
    else:
        with pytest.raises(InvalidInputError, match="skip: MongoDB's search server returns the 50 best chunks"):
            await shelf.found(QUERY, limit=55)


async def by_keywords(keyed: Shelf, question: str, *, limit: int = 100, tree: Filter | None = None) -> list[Place]:
    return [row[:2] for row in await keyed.found_by_words(question, limit=limit, tree=tree)]


async def test_an_empty_knowledge_base_has_no_keywords_to_find(keyed: Shelf) -> None:
    assert await by_keywords(keyed, "whales") == []


async def test_chunks_with_words_of_the_question_are_found_those_with_more_of_them_first(keyed: Shelf) -> None:
    await keyed.write(
        a_document(IDS[0]), "Ships sail over seas.", "Singing whales swim.", "Whales eat krill, and birds eat fish."
    )
    await keyed.write(a_document(IDS[1]), "Nothing of the kind.")
    answer = await keyed.found_by_words("singing whales")
    assert [row[:2] for row in answer] == [(IDS[0], 1), (IDS[0], 2)]
    assert answer[0][2] > answer[1][2] > 0
    assert await by_keywords(keyed, "singing whales", limit=1) == [(IDS[0], 1)]
    assert await by_keywords(keyed, "giraffes") == []


async def test_words_are_found_by_their_stems(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "The whales were singing.", "A ship sailed.")
    assert await by_keywords(keyed, "whale") == [(IDS[0], 0)]
    assert await by_keywords(keyed, "WHALES SING") == [(IDS[0], 0)]


async def test_a_code_is_found_before_those_that_are_like_it(keyed: Shelf) -> None:
    texts = [f"Invoice INV-2024/{number:05} is paid." for number in range(120, 126)]
    await keyed.write(a_document(IDS[0]), *texts)
    assert (await by_keywords(keyed, "INV-2024/00123"))[0] == (IDS[0], 3)
    assert (await by_keywords(keyed, "was inv-2024/00125, the invoice, paid?"))[0] == (IDS[0], 5)


ABOUT_CLEANING = "Use a dry cloth."


async def test_chunks_are_found_by_words_of_their_context(keyed: Shelf) -> None:
    await keyed.write_in_context(
        a_document(IDS[0]),
        ("Zebra-4000-manual, Zebra 4000 manual > Cleaning", ABOUT_CLEANING),
        ("Zebra-4000-manual, Zebra 4000 manual > Warranty", "Two years."),
    )
    await keyed.write_in_context(a_document(IDS[1]), ("Lion-300-manual, Lion 300 manual > Cleaning", ABOUT_CLEANING))
    assert (await by_keywords(keyed, "cleaning the zebra"))[0] == (IDS[0], 0)
    assert (await by_keywords(keyed, "lion: how to use a cloth"))[0] == (IDS[1], 0)
    for name in ("Zebra-4000-manual", "zebra 4000"):
        assert set((await by_keywords(keyed, name))[:2]) == {(IDS[0], 0), (IDS[0], 1)}


async def test_a_word_does_not_count_twice_where_the_context_has_it_too(keyed: Shelf) -> None:
    await keyed.write_in_context(a_document(IDS[0]), ("", "Whales sing."), ("Whales", "Whales sing."))
    await keyed.write_in_context(a_document(IDS[1]), *[("Birds", "Birds fly."), ("Fish", "Fish swim.")] * 4)
    both = {row[1]: row[2] for row in await keyed.found_by_words("whales")}
    alone = max(both.values()) / min(both.values())
    assert set(both) == {0, 1}
    assert alone < 1.9


async def test_contexts_in_scripts_without_spaces_are_found(keyed: Shelf) -> None:
    await keyed.write_in_context(a_document(IDS[0]), ("座頭鯨の図鑑", "海を泳ぐ"), ("鳥の図鑑", "空を飛ぶ"))
    assert (await by_keywords(keyed, "座頭鯨"))[0] == (IDS[0], 0)


async def test_scripts_without_spaces_are_found_by_parts_of_a_sentence(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "座頭鯨の歌を聞いた", "鳥は空を飛ぶ", "고래가 노래한다", "鲸鱼在海里唱歌")
    assert (await by_keywords(keyed, "鯨の歌"))[0] == (IDS[0], 0)
    assert (await by_keywords(keyed, "唱歌"))[0] == (IDS[0], 3)


async def test_what_was_committed_is_found_and_what_was_replaced_or_taken_out_is_not(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "whales")
    assert await by_keywords(keyed, "whales") == [(IDS[0], 0)]
    await keyed.write(a_document(IDS[1]), "more whales")
    await keyed.write(a_document(IDS[0]), "birds")
    assert await by_keywords(keyed, "whales") == [(IDS[1], 0)]
    assert await by_keywords(keyed, "birds") == [(IDS[0], 0)]
    await keyed.take_out(IDS[1])
    assert await by_keywords(keyed, "whales") == []


async def test_what_is_only_staged_is_not_found_by_keywords(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "one whale")
    await keyed.stage(a_document(IDS[1]), vectors(60), ["whale whale whale"] * 60)
    assert await by_keywords(keyed, "whale", limit=1) == [(IDS[0], 0)]


async def test_pages_of_equal_keyword_results_follow_each_other(keyed: Shelf) -> None:
    for document_id in reversed(IDS[:3]):
        await keyed.write(a_document(document_id), *["whales"] * 20)
    ordered = [(document_id, place) for document_id in IDS[:3] for place in range(20)]
    for limit in (1, 7, 20, 33):
        assert await by_keywords(keyed, "whales", limit=limit) == ordered[:limit]


async def test_an_empty_set_of_documents_has_no_keywords(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "whales")
    assert await by_keywords(keyed, "whales", tree=In(BuiltInField.DOCUMENT_ID, ())) == []


async def test_another_organization_finds_no_keywords(keyed: Shelf, serving: Serving, tmp_path: Path) -> None:
    await keyed.write(a_document(IDS[0]), "whales")
    foreign = keyed.knowledge_base.model_copy(update={"organization_id": "o2"})
    # As another process, which holds nothing yet.
    backend = serving.backend(tmp_path / "other", with_keywords=True)
    reader = backend.reader(foreign, await keyed.epoch())
    assert await reader.keyword_search("whales", limit=5, chunk_filter=None) == []
    backend.forget(foreign.id)
    await backend.close()


@pytest.fixture
async def texts(keyed: Shelf) -> Shelf:
    """Six documents of three chunks that hold the same word, whose metadata the made filters ask for."""
    metadata: list[dict[str, object]] = [
        {"a": 1, "b": "a"},
        {"a": [1, "b", None], "b": {"a": 2.0}},
        {"a": {"b": ["a", {"0": True}]}, "0": 2**53 + 1},
        {"b": [], "-1": "$gt"},
        {"a": [{"b": 1}, {"b": [2, "ab"]}], "00": False},
        {},
    ]
    for document_id, attached in zip(IDS, metadata, strict=True):
        tags = {"tag_ids": ("2024",) if "b" in attached else (), "metadata": attached}
        await keyed.write(a_document(document_id).model_copy(update=tags), *["whales"] * 3)
    return keyed


@pytest.mark.parametrize("named", [hits.MOST_DOCUMENTS_NAMED, -1], ids=["by ids", "by what chunks carry"])
@MADE
@given(tree=chunk_filters)
async def test_filters_let_through_what_a_plain_reading_does_by_keywords(
    texts: Shelf, monkeypatch: pytest.MonkeyPatch, named: int, tree: Filter
) -> None:
    monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
    assert await by_keywords(texts, "whales", tree=tree) == texts.passing(tree)


async def test_both_searches_of_a_reader_see_one_version_whatever_is_committed_between_them(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "whales", "whales")
    await keyed.write(a_document(IDS[1]), "birds")
    reader = await keyed.reader()
    seen = {hit.generation_id for hit in await reader.vector_search(QUERY, limit=100, chunk_filter=None)}
    await keyed.write(a_document(IDS[1]), "birds and whales")
    await keyed.write(a_document(IDS[2]), "more whales")
    hits = await reader.keyword_search("whales", limit=100, chunk_filter=None)
    assert {(IDS[0], 0), (IDS[0], 1)} <= {(hit.document_id, hit.chunk_index) for hit in hits}
    assert {hit.generation_id for hit in hits} <= seen
    assert {place for place, _ in await by_keywords(keyed, "whales")} == {IDS[0], IDS[1], IDS[2]}


MANY_TEXTS = {"local": 20_000, "emulator": 2_000, "sqlite": 2_000, "server": 20_000}
"""Chunks; the emulator cuts each into words again for every question."""


async def test_a_filter_that_one_of_many_identical_chunks_passes_finds_it(
    keyed: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = MANY_TEXTS[keyed.name] // 4
    for number in range(4):
        await keyed.write(a_document(new_id(), number=number), *["whales sing of whales"] * part)
    await keyed.write(a_document(IDS[0], number=99), "the whale is one of the many animals that are in this list")
    for named in (hits.MOST_DOCUMENTS_NAMED, -1):
        monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
        tree = Comparison(MetadataField(("number",)), Comparator.GREATER, 11)
        assert await by_keywords(keyed, "whales", limit=10, tree=tree) == [(IDS[0], 0)]


@MADE
@given(question=st.text(max_size=40))
async def test_any_question_is_answered(texts: Shelf, question: str) -> None:
    assert set(await by_keywords(texts, question)) <= set(texts.passing())


async def test_questions_without_words_and_very_long_ones_are_answered(keyed: Shelf) -> None:
    await keyed.write(a_document(IDS[0]), "whales", "鯨の歌")
    for question in ("", " ", "?!", "\0", "AND OR NOT", '"whales', "whales:" * 3, "a" * 100_000):
        assert set(await by_keywords(keyed, question)) <= set(keyed.passing())
    assert (IDS[0], 0) in await by_keywords(keyed, "whales " * 3000)
    assert (IDS[0], 1) in await by_keywords(keyed, "鯨の歌" * 1000)


async def test_asking_deeper_than_the_server_shows_is_right_or_refused(
    keyed: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "MOST_FOUND", 50)
    await keyed.write(a_document(IDS[0]), *["whales"] * 60)
    ordered = [(IDS[0], place) for place in range(60)]
    assert len(await by_keywords(keyed, "whales", limit=50)) == 50
    if keyed.name in ("local", "sqlite"):
        assert await by_keywords(keyed, "whales", limit=55) == ordered[:55]
    else:
        with pytest.raises(InvalidInputError, match="skip: MongoDB's search server returns the 50 best chunks"):
            await by_keywords(keyed, "whales", limit=55)
