"""XFA forms, whose fields stand in XML beside the pages."""

from pathlib import Path

import pikepdf
from lxml import etree

from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

MAX_VALUES = 2_000
MAX_PACKET_BYTES = 5_000_000
_DATASETS = "datasets"


def xfa_values(path: Path) -> list[str]:
    """Return the values of an XFA form as `name: value`."""
    try:
        with pikepdf.open(path, suppress_warnings=True) as document:
            form = document.Root.get("/AcroForm")
            packets = form.get("/XFA") if isinstance(form, pikepdf.Dictionary) else None
            return _values_of(packets) if packets is not None else []
    # A RuntimeError: for an encrypted file, qpdf wants a random device, and the sandbox has none.
    except (pikepdf.PdfError, pikepdf.PasswordError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _values_of(packets: pikepdf.Object) -> list[str]:
    if isinstance(packets, pikepdf.Array):
        parts = [packets[index + 1] for index in range(0, len(packets) - 1, 2) if str(packets[index]) == _DATASETS]
    else:
        parts = [packets]
    values: list[str] = []
    for part in parts:
        if isinstance(part, pikepdf.Stream):
            values += _leaves(part.read_bytes()[:MAX_PACKET_BYTES])
    return values[:MAX_VALUES]


def _leaves(content: bytes) -> list[str]:
    try:
        root = parsed_xml(content)
    except (etree.XMLSyntaxError, ValueError):
        return []
    data = next((element for element in root.iter() if _name(element) == "data"), root)
    values: list[str] = []
    for element in data.iter():
        text = " ".join((element.text or "").split())
        if text and isinstance(element.tag, str):
            values.append(f"{_name(element)}: {text}")
    return values


def _name(element: Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""
