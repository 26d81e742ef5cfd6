"""Attributes of XML elements, however many."""

import pytest
from lxml import etree

from analytiq.ingestion.parsing import xml_part
from analytiq.ingestion.parsing.xml_part import attributes_of

ELEMENT = '<a xmlns:n="urn:n" one="1" n:two="2 &amp; 3" three=""/>'


@pytest.mark.parametrize("few", [0, 50])
def test_attributes_are_the_same_by_both_ways(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(xml_part, "FEW_ATTRIBUTES", few)
    assert attributes_of(etree.fromstring(ELEMENT)) == [("one", "1"), ("{urn:n}two", "2 & 3"), ("three", "")]


def test_many_attributes_are_read_in_their_order() -> None:
    many = [(f"a{number}", str(number)) for number in range(1000)]
    written = " ".join(f"{name}='{value}'" for name, value in many)
    element = etree.fromstring(f"<a {written}/>")
    assert attributes_of(element) == many
