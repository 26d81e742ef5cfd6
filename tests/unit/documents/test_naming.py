"""Names of documents, and what makes two uploads one document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.documents.naming import LONGEST_NAME, identity_of, validated_name
from analytiq.errors import InvalidInputError


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        (" report.pdf ", "report.pdf"),
        ("e\u0301.txt", "é.txt"),
        ("年次報告 🐋.pdf", "年次報告 🐋.pdf"),
        ("../../etc/passwd", "../../etc/passwd"),  # a name is never a path here
        ("x" * LONGEST_NAME, "x" * LONGEST_NAME),
    ],
)
def test_name_is_kept_in_its_normal_form(given_name: str, kept: str) -> None:
    assert validated_name(given_name) == kept


@pytest.mark.parametrize(
    "name",
    [
        "",
        " \t ",
        "x" * (LONGEST_NAME + 1),
        "a\nb",
        "a\0b",
        "a\x7fb",
        "a\x85b",
        "a\ud800b",
        "a\u202efdp.exe",
        "a\u2066b",
        "a\u2028b",
    ],
)
def test_what_is_no_name_is_refused_with_the_callers_own_field(name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        validated_name(name, field="files[3]")
    assert [error.field for error in caught.value.errors] == ["files[3]"]


@given(name=st.text(max_size=300))
def test_kept_name_is_kept_as_it_is_the_second_time(name: str) -> None:
    try:
        kept = validated_name(name)
    except InvalidInputError:
        return
    assert validated_name(kept) == kept


def test_identity_is_of_the_name_the_bytes_and_the_copy() -> None:
    identities = {
        identity_of("a", "1"), identity_of("b", "1"), identity_of("a", "2"),
        identity_of("a", "1", copy_of="x"), identity_of("a", "1", copy_of="y"),
    }  # fmt: skip
    assert len(identities) == 5
    assert identity_of("a", "1") == identity_of("a", "1")
