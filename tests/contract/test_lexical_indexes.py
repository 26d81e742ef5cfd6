"""What every index of words owes: over the local one, MongoDB's behind the emulator, and a real server where one is."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytiq.errors import InvalidInputError
from analytiq.retrieval.backends.mongodb import hits
from analytiq.retrieval.filters.tree import BuiltInField, Comparator, Comparison, Filter, In, MetadataField
from analytiq.storage.ids import new_id
from tests.contract.conftest import NewShelf, Serving
from tests.contract.shelf import Shelf, vectors
from tests.made_filters import IDS, a_document, chunk_filters

Place = tuple[str, int]

MADE = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def shelf(new_shelf: NewShelf) -> Shelf:
    """An empty knowledge base with an index of words."""
    return await new_shelf(with_keywords=True)


async def found(shelf: Shelf, question: str, *, limit: int = 100, tree: Filter | None = None) -> list[Place]:
    return [row[:2] for row in await shelf.found_by_words(question, limit=limit, tree=tree)]


async def test_an_empty_knowledge_base_has_nothing_to_find(shelf: Shelf) -> None:
    assert await found(shelf, "whales") == []


async def test_chunks_with_words_of_the_question_are_found_those_with_more_of_them_first(shelf: Shelf) -> None:
    await shelf.write(
        a_document(IDS[0]), "Ships sail over seas.", "Singing whales swim.", "Whales eat krill, and birds eat fish."
    )
    await shelf.write(a_document(IDS[1]), "Nothing of the kind.")
    answer = await shelf.found_by_words("singing whales")
    assert [row[:2] for row in answer] == [(IDS[0], 1), (IDS[0], 2)]
    assert answer[0][2] > answer[1][2] > 0
    assert await found(shelf, "singing whales", limit=1) == [(IDS[0], 1)]
    assert await found(shelf, "giraffes") == []


async def test_words_are_found_by_their_stems(shelf: Shelf) -> None:
    await shelf.write(a_document(IDS[0]), "The whales were singing.", "A ship sailed.")
    assert await found(shelf, "whale") == [(IDS[0], 0)]
    assert await found(shelf, "WHALES SING") == [(IDS[0], 0)]


async def test_a_code_is_found_before_those_that_are_like_it(shelf: Shelf) -> None:
    texts = [f"Invoice INV-2024/{number:05} is paid." for number in range(120, 126)]
    await shelf.write(a_document(IDS[0]), *texts)
    assert (await found(shelf, "INV-2024/00123"))[0] == (IDS[0], 3)
    assert (await found(shelf, "was inv-2024/00125, the invoice, paid?"))[0] == (IDS[0], 5)


async def test_scripts_without_spaces_are_found_by_parts_of_a_sentence(shelf: Shelf) -> None:
    await shelf.write(a_document(IDS[0]), "座頭鯨の歌を聞いた", "鳥は空を飛ぶ", "고래가 노래한다", "鲸鱼在海里唱歌")
    assert (await found(shelf, "鯨の歌"))[0] == (IDS[0], 0)
    assert (await found(shelf, "唱歌"))[0] == (IDS[0], 3)


async def test_what_was_committed_is_found_and_what_was_replaced_or_taken_out_is_not(shelf: Shelf) -> None:
    await shelf.write(a_document(IDS[0]), "whales")
    assert await found(shelf, "whales") == [(IDS[0], 0)]
    await shelf.write(a_document(IDS[1]), "more whales")
    await shelf.write(a_document(IDS[0]), "birds")
    assert await found(shelf, "whales") == [(IDS[1], 0)]
    assert await found(shelf, "birds") == [(IDS[0], 0)]
    await shelf.take_out(IDS[1])
    assert await found(shelf, "whales") == []


async def test_what_is_only_staged_is_not_found(shelf: Shelf) -> None:
    await shelf.write(a_document(IDS[0]), "one whale")
    await shelf.stage(a_document(IDS[1]), vectors(60), ["whale whale whale"] * 60)
    assert await found(shelf, "whale", limit=1) == [(IDS[0], 0)]


async def test_pages_of_equal_results_follow_each_other(shelf: Shelf) -> None:
    for document_id in reversed(IDS[:3]):
        await shelf.write(a_document(document_id), *["whales"] * 20)
    ordered = [(document_id, place) for document_id in IDS[:3] for place in range(20)]
    for limit in (1, 7, 20, 33):
        assert await found(shelf, "whales", limit=limit) == ordered[:limit]


async def test_an_empty_set_of_documents_has_nothing(shelf: Shelf) -> None:
    await shelf.write(a_document(IDS[0]), "whales")
    assert await found(shelf, "whales", tree=In(BuiltInField.DOCUMENT_ID, ())) == []


async def test_another_organization_finds_nothing(shelf: Shelf, serving: Serving, tmp_path: Path) -> None:
    await shelf.write(a_document(IDS[0]), "whales")
    foreign = shelf.knowledge_base.model_copy(update={"organization_id": "o2"})
    # As another process, which holds nothing yet.
    backend = serving.backend(tmp_path / "other", with_keywords=True)
    reader = backend.reader(foreign, await shelf.epoch())
    assert await reader.keyword_search("whales", limit=5, chunk_filter=None) == []
    backend.forget(foreign.id)
    await backend.close()


@pytest.fixture
async def library(shelf: Shelf) -> Shelf:
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
        await shelf.write(a_document(document_id).model_copy(update=tags), *["whales"] * 3)
    return shelf


@pytest.mark.parametrize("named", [hits.MOST_DOCUMENTS_NAMED, -1], ids=["by ids", "by what chunks carry"])
@MADE
@given(tree=chunk_filters)
async def test_filters_let_through_what_a_plain_reading_does(
    library: Shelf, monkeypatch: pytest.MonkeyPatch, named: int, tree: Filter
) -> None:
    monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
    assert await found(library, "whales", tree=tree) == library.passing(tree)


MANY = {"local": 20_000, "emulator": 2_000, "server": 20_000}
"""Chunks; the emulator cuts each into words again for every question."""


async def test_a_filter_that_one_of_many_identical_chunks_passes_finds_it(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = MANY[shelf.name] // 4
    for number in range(4):
        await shelf.write(a_document(new_id(), number=number), *["whales sing of whales"] * part)
    await shelf.write(a_document(IDS[0], number=99), "the whale is one of the many animals that are in this list")
    for named in (hits.MOST_DOCUMENTS_NAMED, -1):
        monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
        tree = Comparison(MetadataField(("number",)), Comparator.GREATER, 11)
        assert await found(shelf, "whales", limit=10, tree=tree) == [(IDS[0], 0)]


@MADE
@given(question=st.text(max_size=40))
async def test_any_question_is_answered(library: Shelf, question: str) -> None:
    assert set(await found(library, question)) <= set(library.passing())


async def test_questions_without_words_and_very_long_ones_are_answered(shelf: Shelf) -> None:
    await shelf.write(a_document(IDS[0]), "whales", "鯨の歌")
    for question in ("", " ", "?!", "\0", "AND OR NOT", '"whales', "whales:" * 3, "a" * 100_000):
        assert set(await found(shelf, question)) <= set(shelf.passing())
    assert (IDS[0], 0) in await found(shelf, "whales " * 3000)
    assert (IDS[0], 1) in await found(shelf, "鯨の歌" * 1000)


async def test_asking_deeper_than_the_server_shows_is_right_or_refused(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "MOST_FOUND", 50)
    await shelf.write(a_document(IDS[0]), *["whales"] * 60)
    ordered = [(IDS[0], place) for place in range(60)]
    assert len(await found(shelf, "whales", limit=50)) == 50
    if shelf.name == "local":
        assert await found(shelf, "whales", limit=55) == ordered[:55]
    else:
        with pytest.raises(InvalidInputError, match="skip: MongoDB's search server shows the 50 best chunks"):
            await found(shelf, "whales", limit=55)
