"""`--metadata KEY=VALUE`."""

import pytest

from analytiq.cli.metadata_options import read_metadata
from analytiq.errors import InvalidInputError


def test_values_are_json_where_they_can_be_and_text_elsewhere() -> None:
    given = ["year=2024", "customer=Acme = Co", "paid=true", 'tags=["a"]', "id=007", "note=", "rate=1.50", "x=NaN"]
    assert read_metadata(given) == {
        "year": 2024, "customer": "Acme = Co", "paid": True, "tags": ["a"], "id": "007", "note": "", "rate": 1.5,
        "x": "NaN",
    }  # fmt: skip
    assert read_metadata([]) is None


@pytest.mark.parametrize("given", [["year"], ["=1"], [" =1"], ["a=1", "a=2"]])
def test_what_is_no_pair_is_refused(given: list[str]) -> None:
    with pytest.raises(InvalidInputError, match="--metadata"):
        read_metadata(given)
