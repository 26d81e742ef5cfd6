import pytest

from analytiq.errors import InvalidInputError, UnsupportedFormatError
from analytiq.parsing import registry
from analytiq.parsing.registry import (
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


def test_unknown_content_type_lists_the_known_ones() -> None:
    known = ParserRegistry(BUILT_IN_PARSERS)
    with pytest.raises(UnsupportedFormatError) as raised:
        known.entry_for("application/msword")
    assert "application/msword" in raised.value.detail
    for content_type in known.content_types:
        assert content_type in raised.value.detail


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


def test_parser_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = registry.EntryPoint("broken", "no_such_module:Parser", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: (broken,) if group == broken.group else ())
    with pytest.raises(InvalidInputError, match=r"'broken'.*no_such_module"):
        registry.installed_parsers()
