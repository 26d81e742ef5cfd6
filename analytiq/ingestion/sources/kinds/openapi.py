"""The description of an API: one document, whose operations are its sections."""

import posixpath
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from analytiq.ingestion.sources.systems.labelled.connector import LabelledText, TextConnector

ENDINGS = (".json", ".yaml", ".yml")


class OpenApiConnector(TextConnector):
    """An OpenAPI document at an address, or given as text."""

    title: ClassVar[str] = "OpenAPI"
    description: ClassVar[str] = "The description of an API by OpenAPI, as YAML or JSON; each operation is a section."
    content_type: ClassVar[str] = "application/octet-stream"

    def items_of(self, text: str) -> list[LabelledText]:
        """Return the document, named by the address; the parser looks at its content."""
        if not text.strip():
            return []
        given = posixpath.basename(unquote(urlsplit(self.address).path))
        ending = ".json" if text.lstrip("\ufeff \t\r\n").startswith("{") else ".yaml"
        name = given if given.lower().endswith(ENDINGS) else f"{given or 'openapi'}{ending}"
        return [LabelledText(key="openapi", title=name, text=text)]
