"""Pictures of a document for a vision model, and their places in its text."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as a file of its media type, in base64."""

    media_type: Literal["image/png", "image/jpeg"]
    data: str

    @property
    def data_uri(self) -> str:
        """The picture as an address that holds its content."""
        return f"data:{self.media_type};base64,{self.data}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a page.

    Attributes:
        picture: its key among the document's pictures.
        position: of its description in the page's text, in characters; between two blocks.
    """

    picture: str
    position: int
