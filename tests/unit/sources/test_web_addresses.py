"""Web addresses: one spelling, and names of documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.ingestion.documents.naming import validated_path, validated_source_url
from analytiq.ingestion.parsing.formats import HTML
from analytiq.ingestion.sources.kinds.web import SESSION_PARAMETERS
from analytiq.ingestion.sources.systems.web.addresses import (
    absolute,
    is_endless,
    key_of,
    normalized,
    parameter_pattern,
    without_parameters,
)
from analytiq.ingestion.sources.systems.web.file_types import name_of, type_of
from analytiq.ingestion.sources.systems.web.scope import is_host_of


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("HTTP://Example.COM:80/a/../b/./c?x=1#part", "http://example.com/b/c?x=1"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com:443/?", "https://example.com/"),
        ("https://bücher.example/ä ö?q=%7e%2f", "https://xn--bcher-kva.example/%C3%A4%20%C3%B6?q=~%2F"),
        ("https://example.com/100%/x", "https://example.com/100%25/x"),
        ("https://example.com./a//b", "https://example.com/a//b"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://user@example.com/", None),
        ("https://exa mple.com/", None),
        ("ftp://example.com/", None),
        ("https://example.com:99999/", None),
        ("https://example.com/" + "a" * 3000, None),
    ],
)
def test_address_has_one_spelling(address: str, expected: str | None) -> None:
    assert normalized(address) == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("c", "https://example.com/a/c"),
        ("/c", "https://example.com/c"),
        ("?x=1", "https://example.com/a/b?x=1"),
        (" c\n", "https://example.com/a/c"),
        ("..\\c", "https://example.com/c"),
        ("//other.example/c", "https://other.example/c"),
        ("#part", "https://example.com/a/b"),
        ("mailto:a@example.com", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("http://[", None),
    ],
)
def test_links_are_resolved_as_browsers_do(link: str, expected: str | None) -> None:
    assert absolute(link, "https://example.com/a/b") == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://e.com/a;jsessionid=1A?b=2&PHPSESSID=3", "https://e.com/a?b=2"),
        ("https://e.com/a?utm_source=x&utm_medium=y", "https://e.com/a"),
        ("https://e.com/a?id=1&sid=2&x", "https://e.com/a?id=1&x"),
        ("https://e.com/a;v=1", "https://e.com/a;v=1"),
    ],
)
def test_parameters_of_sessions_are_removed(address: str, expected: str) -> None:
    assert without_parameters(address, parameter_pattern(SESSION_PARAMETERS)) == expected


def test_order_of_parameters_makes_no_other_page() -> None:
    assert key_of("https://e.com/?a=1&b=2") == key_of("https://e.com/?b=2&a=1") != key_of("https://e.com/?a=1")


def test_addresses_of_endless_series_are_told() -> None:
    assert is_endless("https://e.com/a/x/a/x/a/x/a/x")
    assert is_endless("https://e.com/" + "/".join(map(str, range(40))))
    assert is_endless("https://e.com/?" + "&".join(f"p{number}=1" for number in range(20)))
    assert not is_endless("https://e.com/2024/01/01/a-page?x=1")


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_link_gives_a_stable_spelling_and_a_valid_name(path: str, query: str) -> None:
    address = absolute(f"/{path}?{query}", "https://example.com/")
    if address is None:
        return
    assert normalized(address) == address
    assert validated_source_url(address) == address
    for kind in (HTML, "application/pdf", "text/plain"):
        name = name_of(address, kind)
        assert validated_path(name) == name


@pytest.mark.parametrize(
    ("address", "kind", "name"),
    [
        ("https://e.com/", HTML, "e.com/index.html"),
        ("https://e.com/docs/", HTML, "e.com/docs/index.html"),
        ("https://e.com/docs/page", HTML, "e.com/docs/page.html"),
        ("https://e.com/a.htm?x=1", HTML, "e.com/a?x=1.htm"),
        ("https://e.com/a.php?x=1", HTML, "e.com/a?x=1.php.html"),
        ("https://e.com/r%C3%A9sum%C3%A9.pdf", "application/pdf", "e.com/résumé.pdf"),
        ("https://e.com/get?id=3", "application/pdf", "e.com/get?id=3.pdf"),
    ],
)
def test_document_is_named_by_its_address(address: str, kind: str, name: str) -> None:
    assert name_of(address, kind) == name


@pytest.mark.parametrize(
    ("address", "header", "kind"),
    [
        ("https://e.com/", "text/html; charset=utf-8", HTML),
        ("https://e.com/a", "application/xhtml+xml", HTML),
        ("https://e.com/a.pdf", "application/octet-stream", "application/pdf"),
        ("https://e.com/a.bin", "application/octet-stream", None),
        ("https://e.com/a", "image/png", None),
        ("https://e.com/a", "application/zip", None),
        ("https://e.com/a", "text/css", None),
        ("https://e.com/a", "text/markdown", "text/markdown"),
    ],
)
def test_type_decides_if_a_file_is_taken(address: str, header: str, kind: str | None) -> None:
    assert type_of(address, header) == kind


def test_hosts_are_names_or_globs_with_or_without_www() -> None:
    assert is_host_of("www.e.com", ("e.com",))
    assert is_host_of("e.com", ("www.e.com",))
    assert is_host_of("a.b.e.com", ("*.e.com",))
    assert not is_host_of("evil-e.com", ("e.com", "*.e.com"))
    assert not is_host_of("e.com.evil.org", ("e.com",))
