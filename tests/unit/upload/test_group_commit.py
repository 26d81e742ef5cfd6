"""Batches of waiting files: their bounds, and the files of those that fail."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from analytiq.errors import ConflictError, TransactionTooLargeError, TransientError
from analytiq.ingestion.upload.batch import Placed, WantedPlacement
from analytiq.ingestion.upload.group_commit import MOST_BYTES, MOST_FILES, GroupCommit, Result
from analytiq.ingestion.upload.placement import Placement, new_document
from analytiq.models.upload import DuplicatePolicy, Upload, UploadOutcome
from analytiq.storage.files import describe
from analytiq.storage.ids import new_id

AT = datetime(2026, 1, 1, tzinfo=UTC)


def wanted(name: str, *, content: bytes = b"x", is_bulk: bool = False) -> WantedPlacement:
    placement = Placement(
        upload=Upload(
            id=new_id(), organization_id="o", file_id=new_id(), document_name=name, lease_expires_at=AT, created_at=AT
        ),
        stored=describe(content),
        content=content,
        document_name=name,
        origin=None,
        external_identity=None,
        source_url=None,
        merges=False,
        content_type="text/plain",
        tag_ids=None,
        metadata=None,
        password=None,
        request_id=None,
        is_bulk=is_bulk,
    )
    return WantedPlacement(placement, DuplicatePolicy.RETURN)


class Place:
    """Notes the batches; refuses those with more than `most` files, or with a file that is named."""

    def __init__(self, *, most: int = MOST_FILES, refusal: Exception | None = None) -> None:
        self.batches: list[list[str]] = []
        self._most = most
        self._refusal = refusal

    async def __call__(self, organization_id: str, batch: Sequence[WantedPlacement]) -> list[Placed | None]:
        self.batches.append([each.placement.document_name for each in batch])
        await asyncio.sleep(0)
        if len(batch) > self._most:
            raise self._refusal or TransactionTooLargeError("too large")
        return [(new_document(each.placement), UploadOutcome.CREATED) for each in batch]


def names(results: Sequence[Result]) -> list[str]:
    return [result[0].document_name for result in results if isinstance(result, tuple)]


async def test_batches_are_bounded_by_files_and_by_bytes() -> None:
    place = Place()
    await GroupCommit(place).place("o", [wanted(str(number)) for number in range(MOST_FILES + 1)])
    assert [len(batch) for batch in place.batches] == [MOST_FILES, 1]
    place = Place()
    third = bytes(MOST_BYTES // 3 + 1)
    await GroupCommit(place).place("o", [wanted(str(number), content=third) for number in range(5)])
    assert [len(batch) for batch in place.batches] == [2, 2, 1]


async def test_batch_that_is_too_large_is_halved_and_every_file_answered() -> None:
    place = Place(most=3)
    results = await GroupCommit(place).place("o", [wanted(str(number)) for number in range(10)])
    assert names(results) == [str(number) for number in range(10)]
    assert [len(batch) for batch in place.batches] == [10, 5, 2, 3, 5, 2, 3]


async def test_file_too_large_by_itself_is_left_to_its_caller() -> None:
    results = await GroupCommit(Place(most=0)).place("o", [wanted("a"), wanted("b")])
    assert results == [None, None]


async def test_batch_that_fails_leaves_each_file_to_its_caller() -> None:
    results = await GroupCommit(Place(most=1, refusal=ConflictError("no"))).place("o", [wanted("a"), wanted("b")])
    assert results == [None, None]


async def test_commit_of_unknown_outcome_is_not_repeated() -> None:
    unknown = TransientError("perhaps", code="commit_outcome_unknown")
    results = await GroupCommit(Place(most=1, refusal=unknown)).place("o", [wanted("a"), wanted("b")])
    assert results == [unknown, unknown]


async def test_single_files_go_before_those_in_bulk() -> None:
    place = Place()
    groups = GroupCommit(place)
    bulk = asyncio.create_task(groups.place("o", [wanted(f"bulk {number}", is_bulk=True) for number in range(200)]))
    await asyncio.sleep(0)
    await groups.place("o", [wanted("single")])
    assert "single" in (place.batches[0][0], place.batches[1][0])
    await bulk
    assert sum(len(batch) for batch in place.batches) == 201


async def test_organizations_do_not_wait_for_each_other() -> None:
    place = Place()
    groups = GroupCommit(place)
    await asyncio.gather(groups.place("o", [wanted("a")]), groups.place("p", [wanted("b")]))
    assert place.batches == [["a"], ["b"]]
