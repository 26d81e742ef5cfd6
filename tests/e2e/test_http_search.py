"""Search over HTTP: the call, its filters, and filters that try to escape their organization."""

from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    UNKNOWN_ID,
    Body,
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_indexed,
)

BIRDS = (
    (
        "heron.txt",
        "The grey heron stands still in the water.",
        '{"legs": 2, "colour": "grey", "seen": {"by": ["Ann"]}}',
    ),
    ("stork.txt", "The white stork nests on chimneys.", '{"legs": 2, "colour": "white", "seen": {"by": ["Bob"]}}'),
    ("crane.txt", "The common crane dances in the marsh.", '{"legs": 2, "rare": true, "colour": null}'),
    ("otter.txt", "The otter swims with the birds.", '{"legs": 4, "weight": 7.5}'),
)


@pytest.fixture(scope="module")
def zoo(client: httpx.Client) -> Body:
    """A knowledge base of four documents, each of one chunk; two carry another tag, `wader`, too."""
    tag, wader = make_tag(client, "animal"), make_tag(client, "wader")
    kb = make_knowledge_base(client, [tag])
    ids: dict[str, str] = {}
    for name, text, metadata in BIRDS:
        tags = [tag, wader] if name in ("heron.txt", "crane.txt") else [tag]
        document = upload(client, unique(name), text.encode(), tag_ids=tags, metadata=metadata)
        ids[name.removesuffix(".txt")] = document["document_id"]
    for document_id in ids.values():
        wait_until_indexed(client, document_id)
    return {"kb": kb, "ids": ids, "tag": tag, "wader": wader}


def found(client: httpx.Client, zoo: Body, **options: Any) -> set[str]:
    """The names of what a search finds."""
    names = {document_id: name for name, document_id in zoo["ids"].items()}
    answer = search(client, zoo["kb"], "an animal at the water", top_k=10, **options)
    assert answer["total_count"] == len(answer["results"])
    return {names[item["document_id"]] for item in answer["results"]}


def test_search_of_the_seed_answers_the_fields_that_the_seed_names(client: httpx.Client, zoo: Body) -> None:
    body = {
        "query": "Which bird stands in the water?",
        "top_k": 5,
        "skip": 0,
        "document_ids": [zoo["ids"]["heron"]],
        "metadata_filter": {"colour": "grey", "tag_ids": [zoo["wader"], UNKNOWN_ID]},
        "upload_date_from": "2024-01-01T00:00:00Z",
        "upload_date_to": "2126-12-31T23:59:59Z",
        "coalesce_neighbors": 2,
    }
    answer = accepted(client.post(f"/knowledge-bases/{zoo['kb']}/search", json=body))
    assert (answer["query"], answer["skip"], answer["top_k"]) == (body["query"], 0, 5)
    assert answer["total_count"] == 1
    (result,) = answer["results"]
    assert result["content"] == "The grey heron stands still in the water."
    assert result["source"].startswith("heron")
    assert result["document_id"] == zoo["ids"]["heron"]
    assert 0 < result["relevance"] <= 1
    assert (result["chunk_index"], result["is_matched"]) == (0, True)


def test_defaults_of_a_search_are_the_seeds(client: httpx.Client, zoo: Body) -> None:
    answer = search(client, zoo["kb"], "birds")
    assert (answer["top_k"], answer["skip"], answer["total_count"]) == (5, 0, 4)
    assert len(answer["results"]) == 4
    relevances = [item["relevance"] for item in answer["results"]]
    assert relevances == sorted(relevances, reverse=True)


def test_answer_tells_how_much_each_leg_counted_and_why(client: httpx.Client, zoo: Body) -> None:
    weights = search(client, zoo["kb"], "Which bird stands in the water?")["weights"]
    assert weights["vector"] + weights["lexical"] == pytest.approx(1.0)
    assert weights["reason"]
    given = search(client, zoo["kb"], "Which bird stands in the water?", alpha=0.9, fusion="rrf")["weights"]
    assert (given["vector"], given["lexical"]) == (0.9, 0.1)
    assert search(client, zoo["kb"], "water", mode="vector")["weights"] is None


def test_pages_of_results_do_not_overlap_and_leave_nothing_out(client: httpx.Client, zoo: Body) -> None:
    whole = search(client, zoo["kb"], "birds")["results"]
    paged = [search(client, zoo["kb"], "birds", top_k=1, skip=skip)["results"] for skip in range(5)]
    assert [item for page in paged for item in page] == whole
    assert paged[4] == []


def test_neighbours_are_marked_and_stay_in_their_document(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag], chunk_size=24, chunk_overlap=0, coalesce_neighbors=1)
    words = ["anchors", "bridges", "candles", "dolphins", "engines", "ferns", "glaciers"]
    text = "\n\n".join(f"This part of the story tells of {word} and of nothing but {word} all day." for word in words)
    document = upload(client, unique("story.txt"), text.encode(), tag_ids=[tag])
    count = wait_until_indexed(client, document["document_id"])["knowledge_bases"][0]["chunk_count"]
    other = upload(client, unique("other.txt"), b"A tax form.", tag_ids=[tag])
    wait_until_indexed(client, other["document_id"])
    alone = search(client, kb, "dolphins", top_k=1, coalesce_neighbors=0)["results"]
    assert [item["is_matched"] for item in alone] == [True]
    middle = alone[0]["chunk_index"]
    assert 0 < middle < count - 1
    around = search(client, kb, "dolphins", top_k=1)["results"]
    assert [item["chunk_index"] for item in around] == [middle - 1, middle, middle + 1]
    assert [item["is_matched"] for item in around] == [False, True, False]
    assert around[1] == alone[0]
    wide = search(client, kb, "dolphins", top_k=1, coalesce_neighbors=5)["results"]
    assert [item["chunk_index"] for item in wide] == list(range(max(0, middle - 5), min(count, middle + 6)))
    assert {item["document_id"] for item in wide} == {document["document_id"]}


FILTERS: list[tuple[Body, set[str]]] = [
    ({}, {"heron", "stork", "crane", "otter"}),
    ({"colour": "grey"}, {"heron"}),
    ({"metadata.colour": "grey"}, {"heron"}),
    ({"colour": "Grey"}, set()),
    ({"colour": ".*"}, set()),
    ({"colour": None}, {"crane"}),
    ({"colour": {"$exists": False}}, {"otter"}),
    ({"colour": {"$ne": "grey"}}, {"stork", "crane", "otter"}),
    ({"colour": ["grey", "white"]}, {"heron", "stork"}),
    ({"colour": {"$nin": ["grey", "white"]}}, {"crane", "otter"}),
    ({"legs": {"$gt": 2}}, {"otter"}),
    ({"legs": "2"}, set()),
    ({"legs": {"$gte": 2, "$lt": 4}}, {"heron", "stork", "crane"}),
    ({"weight": {"$lte": 7.5}}, {"otter"}),
    ({"rare": True}, {"crane"}),
    ({"rare": 1}, set()),
    ({"seen.by": "Ann"}, {"heron"}),
    ({"$or": [{"colour": "white"}, {"legs": 4}]}, {"stork", "otter"}),
    ({"$and": [{"legs": 2}, {"colour": {"$not": {"$in": ["grey"]}}}]}, {"stork", "crane"}),
    ({"$nor": [{"legs": 4}, {"rare": True}]}, {"heron", "stork"}),
    ({"content_type": "no/such"}, set()),
    ({"upload_date": {"$lt": "2001-01-01T00:00:00Z"}}, set()),
    ({"upload_date": {"$gt": "2001-01-01T00:00:00+02:00"}}, {"heron", "stork", "crane", "otter"}),
]


@pytest.mark.parametrize(("metadata_filter", "names"), FILTERS)
def test_metadata_filter_finds_what_it_says(
    client: httpx.Client, zoo: Body, metadata_filter: Body, names: set[str]
) -> None:
    assert found(client, zoo, metadata_filter=metadata_filter) == names


def test_search_is_narrowed_by_tag_document_and_date(client: httpx.Client, zoo: Body) -> None:
    ids = zoo["ids"]
    assert found(client, zoo, metadata_filter={"tag_ids": [zoo["wader"]]}) == {"heron", "crane"}
    assert found(client, zoo, metadata_filter={"tag_ids": zoo["wader"]}) == {"heron", "crane"}
    name = accepted(client.get(f"/tags/{zoo['wader']}"))["name"]
    assert found(client, zoo, metadata_filter={"tag_ids": [name]}) == {"heron", "crane"}
    assert found(client, zoo, document_ids=[ids["otter"], UNKNOWN_ID, "no-id"]) == {"otter"}
    assert found(client, zoo, document_ids=[]) == set()
    assert found(client, zoo, upload_date_to="2001-01-01T00:00:00Z") == set()
    assert found(client, zoo, upload_date_from="2001-01-01T00:00:00") == set(ids)
    uploaded = accepted(client.get(f"/documents/{ids['stork']}"))["created_at"]
    assert found(client, zoo, upload_date_from=uploaded, upload_date_to=uploaded) == {"stork"}


def nested(levels: int) -> Body:
    """A filter of so many levels."""
    tree: Body = {"legs": 2}
    for _ in range(levels):
        tree = {"$and": [tree]}
    return tree


HOSTILE: list[tuple[Any, str]] = [
    ({"$where": "sleep(1000) || true"}, "metadata_filter.$where"),
    ({"$expr": {"$function": {"body": "x", "args": [], "lang": "js"}}}, "metadata_filter.$expr"),
    ({"$text": {"$search": "x"}}, "metadata_filter.$text"),
    ({"$jsonSchema": {}}, "metadata_filter.$jsonSchema"),
    ({"$comment": "x"}, "metadata_filter.$comment"),
    ({"$not": {"legs": 2}}, "metadata_filter.$not"),
    ({"$AND": [{"legs": 2}]}, "metadata_filter.$AND"),
    ({"$and": []}, "metadata_filter.$and"),
    ({"$and": {"legs": 2}}, "metadata_filter.$and"),
    ({"$or": [{"legs": 2}, {"$where": "1"}]}, "metadata_filter.$or[1].$where"),
    ({"$or": [{"legs": 2}, "x"]}, "metadata_filter.$or[1]"),
    ({"legs": {"$regex": "^2"}}, "metadata_filter.legs.$regex"),
    ({"legs": {"$where": "1"}}, "metadata_filter.legs.$where"),
    ({"legs": {"$elemMatch": {}}}, "metadata_filter.legs.$elemMatch"),
    ({"legs": {"$mod": [2, 0]}}, "metadata_filter.legs.$mod"),
    ({"legs": {"$not": {"$type": "int"}}}, "metadata_filter.legs.$not.$type"),
    ({"legs": {"$gt": {"$ne": 1}}}, "metadata_filter.legs.$gt"),
    ({"legs": {"$in": "2"}}, "metadata_filter.legs.$in"),
    ({"legs": {"$in": []}}, "metadata_filter.legs.$in"),
    ({"legs": {"$in": [2, "2"]}}, "metadata_filter.legs.$in[1]"),
    ({"legs": {"$in": [None]}}, "metadata_filter.legs.$in[0]"),
    ({"legs": {"$in": list(range(1001))}}, "metadata_filter.legs.$in"),
    ({"legs": {"$exists": 1}}, "metadata_filter.legs.$exists"),
    ({"legs": {"$gt": 1, "plain": 2}}, "metadata_filter.legs"),
    ({"legs": {"plain": 2}}, "metadata_filter.legs"),
    ({"legs": {}}, "metadata_filter.legs"),
    ({"legs": 2**64}, "metadata_filter.legs"),
    ({"legs": [[2]]}, "metadata_filter.legs[0]"),
    ({"tag_ids": {"$gt": "a"}}, "metadata_filter.tag_ids.$gt"),
    ({"tag_ids": 5}, "metadata_filter.tag_ids"),
    ({"document_name": {"$gt": None}}, "metadata_filter.document_name.$gt"),
    ({"document_name": 7}, "metadata_filter.document_name"),
    ({"document_name.0": "x"}, "metadata_filter.document_name.0"),
    ({"upload_date": "yesterday"}, "metadata_filter.upload_date"),
    ({"upload_date": {"$gt": 0}}, "metadata_filter.upload_date.$gt"),
    ({"upload_date": "2024-13-01T00:00:00Z"}, "metadata_filter.upload_date"),
    ({"a..b": 1}, "metadata_filter.a..b"),
    ({".": 1}, "metadata_filter.."),
    ({"": 1}, "metadata_filter."),
    ({"a$b": 1}, "metadata_filter.a$b"),
    ({"a.$b": 1}, "metadata_filter.a.$b"),
    ({"n\0ul": 1}, "metadata_filter.n\0ul"),
    ({"metadata": {"$ne": 1}}, "metadata_filter.metadata"),
    ({".".join("a" * 40): 1}, "metadata_filter." + ".".join("a" * 40)),
    ({"legs": "x" * 8192}, "metadata_filter.legs"),
    ({"$or": [{"legs": number} for number in range(300)]}, "metadata_filter.$or[199].legs"),
    (nested(9), "metadata_filter" + ".$and[0]" * 8 + ".$and"),
    ([], "metadata_filter"),
    ("legs", "metadata_filter"),
]


@pytest.mark.parametrize(("metadata_filter", "field"), HOSTILE)
def test_filter_that_may_not_be_is_refused_at_its_place(
    client: httpx.Client, zoo: Body, metadata_filter: Any, field: str
) -> None:
    body = {"query": "x", "metadata_filter": metadata_filter}
    problem_of(client.post(f"/knowledge-bases/{zoo['kb']}/search", json=body), 400, field=field)


def test_filter_of_a_megabyte_is_refused_with_a_short_answer(client: httpx.Client, zoo: Body) -> None:
    huge: list[Body] = [
        {"colour": "x" * 1_000_000},
        {"x" * 1_000_000: 1},
        {"$" + "x" * 1_000_000: 1},
        {"$or": [{"legs": number} for number in range(70_000)]},
        {f"key{number}": 1 for number in range(70_000)},
        {"legs": {"$in": list(range(150_000))}},
    ]
    for metadata_filter in huge:
        body = {"query": "x", "metadata_filter": metadata_filter}
        response = client.post(f"/knowledge-bases/{zoo['kb']}/search", json=body)
        problem_of(response, 400)
        assert len(response.content) < 10_000


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "  \n"}, "query"),
        ({"query": "x" * 20_001}, "query"),
        ({"query": ["x"]}, "query"),
        ({"query": {"$ne": ""}}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "top_k": 101}, "top_k"),
        ({"query": "x", "top_k": "many"}, "top_k"),
        ({"query": "x", "skip": -1}, "skip"),
        ({"query": "x", "skip": 10_000}, "skip"),
        ({"query": "x", "skip": 2**70}, "skip"),
        ({"query": "x", "document_ids": "x"}, "document_ids"),
        ({"query": "x", "document_ids": [1]}, "document_ids[0]"),
        ({"query": "x", "document_ids": [{"$ne": 1}]}, "document_ids[0]"),
        ({"query": "x", "document_ids": ["x"] * 1001}, "document_ids"),
        ({"query": "x", "upload_date_from": "soon"}, "upload_date_from"),
        ({"query": "x", "upload_date_from": {"$gt": ""}}, "upload_date_from"),
        ({"query": "x", "upload_date_to": "0001-01-01T00:00:00+23:59"}, "upload_date_to"),
        (
            {"query": "x", "upload_date_from": "2025-01-01T00:00:00Z", "upload_date_to": "2024-01-01T00:00:00Z"},
            "upload_date_from",
        ),
        ({"query": "x", "coalesce_neighbors": 6}, "coalesce_neighbors"),
        ({"query": "x", "coalesce_neighbors": -1}, "coalesce_neighbors"),
        ({"query": "x", "metadata_filters": {"colour": "grey"}}, "metadata_filters"),
        ({"query": "x", "filter": {"colour": "grey"}}, "filter"),
    ],
)
def test_wrong_search_is_refused_by_field(client: httpx.Client, zoo: Body, body: Body, field: str) -> None:
    problem_of(client.post(f"/knowledge-bases/{zoo['kb']}/search", json=body), 400, field=field)


@pytest.mark.parametrize(
    "query",
    ["\0", "a\0b", "\x1b[31m", "🦭" * 5000, "مرحبا بالعالم", "' OR 1=1 --", "{}", "x" * 20_000, "ﷺ", "\ufffe\uffff"],
)
def test_odd_question_is_answered(client: httpx.Client, zoo: Body, query: str) -> None:
    answer = search(client, zoo["kb"], query)
    assert answer["query"] == query
    assert len(answer["results"]) == 4
