"""Response bodies of positions on pages."""

from analytiq.models.boxes import Box
from analytiq.retrieval.places.service import PlacedPage
from api.schemas.wire import ResponseBody


class BoxResponse(ResponseBody):
    """A rectangle in fractions (0 to 1) of the displayed page, after its rotation."""

    left: float
    top: float
    width: float
    height: float

    @classmethod
    def from_box(cls, box: Box) -> "BoxResponse":
        """Round the box, given by position and size."""
        return cls(
            left=round(box.left, 5),
            top=round(box.top, 5),
            width=round(box.right - box.left, 5),
            height=round(box.bottom - box.top, 5),
        )


class PlacedPageResponse(ResponseBody):
    """A page of the passage; `reason` explains missing boxes."""

    page_number: int
    boxes: list[BoxResponse]
    reason: str | None

    @classmethod
    def from_page(cls, page: PlacedPage) -> "PlacedPageResponse":
        """Build the response."""
        return cls.from_model(page, boxes=[BoxResponse.from_box(box) for box in page.boxes])


class PassagePlace(ResponseBody):
    """The position of the characters [start, end) of a document's text."""

    document_id: str
    start: int
    end: int
    pages: list[PlacedPageResponse]
