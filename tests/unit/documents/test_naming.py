"""Names of documents, and what makes two uploads one document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import (
    LONGEST_NAME,
    LONGEST_PATH,
    identity_of,
    identity_of_item,
    last_component,
    validated_external_identity,
    validated_folder,
    validated_name,
    validated_origin,
    validated_path,
    validated_source_url,
)
from analytiq.models.document import ExternalIdentity


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


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("a.pdf", "a.pdf"),
        ("contracts/2024/a.pdf", "contracts/2024/a.pdf"),
        ("contracts\\2024\\a.pdf", "contracts/2024/a.pdf"),
        ("./contracts//2024/./a.pdf ", "contracts/2024/a.pdf"),
        ("a /b", "a /b"),  # "a" and "a " are two folders
        ("Vertr\u0061\u0308ge/a.pdf", "Vertr\u00e4ge/a.pdf"),
        ("a..b/..c/d..", "a..b/..c/d.."),
        ("/".join(["x" * 250] * 4), "/".join(["x" * 250] * 4)),
    ],
)
def test_path_is_kept_with_its_folders_in_its_normal_form(path: str, kept: str) -> None:
    assert validated_path(path) == kept


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/etc/passwd", "C:/x.pdf", "c:\\x.pdf", "\\\\server\\share\\x.pdf"),
        *("..", "../a.pdf", "a/../b.pdf", "a\\..\\b.pdf", "a/.."),
        *(" /a.pdf", "a\nb/c.pdf", "a\u202eb/c.pdf", "x" * (LONGEST_NAME + 1) + "/a.pdf"),
        "/".join(["x" * 250] * 5),
    ],
)
def test_path_that_leads_out_or_is_none_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        validated_path(path, field="paths[3]")
    assert [error.field for error in caught.value.errors] == ["paths[3]"]


@given(path=st.text(alphabet=st.sampled_from("ab./\\ \u0308é:C\n"), max_size=12) | st.text(max_size=LONGEST_PATH + 9))
def test_kept_path_is_relative_and_is_kept_as_it_is_the_second_time(path: str) -> None:
    try:
        kept = validated_path(path)
    except InvalidInputError:
        return
    assert validated_path(kept) == kept
    assert not {"", ".", ".."} & set(kept.split("/"))


@pytest.mark.parametrize(("folder", "kept"), [("a", "a"), ("a/b/", "a/b"), ("./a", "a")])
def test_folder_is_kept_without_a_slash_at_its_end(folder: str, kept: str) -> None:
    assert validated_folder(folder) == kept


@pytest.mark.parametrize("folder", ["", ".", "..", "/a", "a/../b"])
def test_what_is_no_folder_is_refused(folder: str) -> None:
    with pytest.raises(InvalidInputError):
        validated_folder(folder)


@pytest.mark.parametrize("origin", ["", "a\nb", "x" * 1025])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInputError):
        validated_origin(origin)


def test_identity_is_of_the_name_the_bytes_and_the_copy() -> None:
    identities = {
        identity_of("a", "1"), identity_of("b", "1"), identity_of("a", "2"),
        identity_of("a", "1", copy_of="x"), identity_of("a", "1", copy_of="y"),
    }  # fmt: skip
    assert len(identities) == 5
    assert identity_of("a", "1") == identity_of("a", "1")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\a.txt", "a.txt"),
        ("/abs/b.txt", "b.txt"),
        ("..\\c.txt", "c.txt"),
        ("plain.txt", "plain.txt"),
    ],
)
def test_name_that_brings_folders_along_loses_them(sent: str, kept: str) -> None:
    assert last_component(sent) == kept


@pytest.mark.parametrize("sent", ["..", "a/..", "a/.", "b\\.."])
def test_name_of_a_folder_is_no_name(sent: str) -> None:
    with pytest.raises(InvalidInputError):
        last_component(sent)


def test_key_of_an_item_is_that_of_its_source_and_id_alone() -> None:
    first = ExternalIdentity(source="wiki", external_id="1", version="a")
    assert identity_of_item(first) == identity_of_item(first.model_copy(update={"version": "b"}))
    others = [
        identity_of_item(ExternalIdentity(source="wiki", external_id="2")),
        identity_of_item(ExternalIdentity(source="chat", external_id="1")),
        identity_of("wiki", "1"),
    ]
    assert len({identity_of_item(first), *others}) == 4


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("source", ""), ("source", "x" * 101), ("source", "a\nb"), ("external_id", ""), ("external_id", "x" * 2049),
        ("external_id", "a\0b"), ("external_id", "\ud800"), ("version", ""), ("version", "x" * 257),
        ("version", "\x1b"),
    ],
)  # fmt: skip
def test_part_of_an_external_identity_that_cannot_be_kept_is_named(part: str, value: str) -> None:
    identity = ExternalIdentity(source="wiki", external_id="1", version="2").model_copy(update={part: value})
    with pytest.raises(InvalidInputError, match=rf"^external_identity\.{part}: Must "):
        validated_external_identity(identity)


def test_external_identity_stays_as_the_other_system_spells_it() -> None:
    identity = ExternalIdentity(source="Wiki ", external_id="https://wiki/é?a=1#b", version='W/"é"')
    assert validated_external_identity(identity) == identity


@pytest.mark.parametrize(
    "address",
    ["https://example.com", "http://example.com:8080/a?b=%20#c", "https://bücher.example/ä", "https://[::1]/x"],
)
def test_web_address_of_an_original_is_kept_as_given(address: str) -> None:
    assert validated_source_url(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "", "example.com/page", "//example.com", "ftp://example.com", "javascript:alert(1)", "data:text/html,x",
        "https://", "https:///path", "https://user@example.com", "https://user:pass@example.com", "https://a b",
        "https://example.com/\n", "https://example.com\\@evil.example", "https://[::1", "https://example.com:99999/",
        'https://example.com/"><script>', "https://example.com/\u202e", f"https://example.com/{'x' * 2048}",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidInputError):
        validated_source_url(address)
