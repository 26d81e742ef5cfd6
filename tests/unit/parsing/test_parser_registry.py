import pytest

from analytiq.errors import UnsupportedFormatError
from analytiq.ingestion.parsing import registry
from analytiq.ingestion.parsing.registry import (
    BUILT_IN_PARSERS,
    ParserEntry,
    ParserRegistry,
    default_registry,
    load_parser,
)


@pytest.mark.parametrize("entry", BUILT_IN_PARSERS, ids=lambda entry: entry.reference)
def test_table_of_built_in_parsers_says_what_their_classes_say(entry: ParserEntry) -> None:
    parser = load_parser(entry.reference)
    assert entry.content_types == parser.content_types
    assert entry.extensions == parser.extensions


def test_unknown_content_type_lists_the_endings_that_are_read() -> None:
    known = ParserRegistry(BUILT_IN_PARSERS)
    with pytest.raises(UnsupportedFormatError) as raised:
        known.entry_for("application/x-unheard-of")
    assert "application/x-unheard-of" in raised.value.detail
    for entry in BUILT_IN_PARSERS:
        for extension in entry.extensions:
            assert extension in raised.value.detail


@pytest.mark.parametrize(
    ("content_type", "advice"),
    [
        ("application/vnd.apple.keynote", r"Keynote presentations cannot be read\. .*save it as \.pptx"),
        ("application/vnd.rar", "Unpack it"),
        ("video/mp4", "transcript"),
    ],
)
def test_known_file_that_nobody_reads_says_what_to_upload_instead(content_type: str, advice: str) -> None:
    with pytest.raises(UnsupportedFormatError, match=advice):
        ParserRegistry(BUILT_IN_PARSERS).entry_for(content_type)


def test_any_text_type_is_read_as_plain_text() -> None:
    known = ParserRegistry(BUILT_IN_PARSERS)
    assert known.entry_for("text/x-python") == known.entry_for("text/plain")


def test_entry_given_last_replaces_an_earlier_one() -> None:
    own = ParserEntry("mine:PdfParser", ("application/pdf",), (".pdf",))
    known = ParserRegistry((*BUILT_IN_PARSERS, own))
    assert known.entry_for("application/pdf") is own


@pytest.mark.usefixtures("misbehaving_parsers")
def test_parser_of_another_package_is_found_by_its_entry_point() -> None:
    entry = default_registry().entry_for("application/x-endless")
    assert entry.reference == "misbehaving_parsers:Endless"
    assert default_registry().content_type_of_extension(".misbehaving") is not None


def test_parser_of_another_package_that_cannot_be_imported_is_told_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = registry.EntryPoint("broken", "no_such_module:Parser", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: (broken,) if group == broken.group else ())
    default_registry.cache_clear()
    try:
        found = default_registry()
    finally:
        default_registry.cache_clear()
    with pytest.raises(UnsupportedFormatError, match=r"'broken' \(no_such_module:Parser\) cannot be imported"):
        found.entry_for("application/x-of-the-broken-one")
    assert found.entry_for("application/pdf").reference == "analytiq.ingestion.parsing.pdf:PdfParser"
