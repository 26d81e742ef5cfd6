"""The chosen details of documents."""

import pytest

from analytiq.errors import InvalidInputError
from analytiq.retrieval.pipeline.details import SMALL, WantedDetails


def test_small_details_are_tags_and_the_label_and_need_no_further_query() -> None:
    wanted = WantedDetails.of(SMALL)
    assert (wanted.tags, wanted.label, wanted.further_metadata) == (True, True, False)
    assert WantedDetails.of(["metadata.year"]).further_metadata
    assert not WantedDetails.of([]).label


def test_metadata_is_chosen_as_a_whole_or_by_key() -> None:
    assert WantedDetails.of(["metadata"]).fields is None
    assert WantedDetails.of(["metadata.a b", "metadata.c"]).fields == {"a b", "c"}
    assert WantedDetails.of(["metadata.a", "metadata"]).fields is None


@pytest.mark.parametrize("name", ["", "tag", "metadata.", "METADATA", "text"])
def test_unknown_detail_is_named(name: str) -> None:
    with pytest.raises(InvalidInputError, match="Allowed: tags, metadata"):
        WantedDetails.of([name])
