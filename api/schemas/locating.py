"""Places on pages over the wire."""

from analytiq.models.boxes import Box
from analytiq.retrieval.places.service import PlacedPage
from api.schemas.wire import ResponseBody


class BoxResponse(ResponseBody):
    """A rectangle in fractions (0 to 1) of the page as it is shown, turned as its rotation says."""

    left: float
    top: float
    width: float
    height: float

    @classmethod
    def of(cls, box: Box) -> "BoxResponse":
        """From the library's shape."""
        return cls(
            left=round(box.left, 5),
            top=round(box.top, 5),
            width=round(box.right - box.left, 5),
            height=round(box.bottom - box.top, 5),
        )


class PlacedPageResponse(ResponseBody):
    """One of the passage's pages; `reason` says why it has no boxes."""

    page_number: int
    boxes: list[BoxResponse]
    reason: str | None

    @classmethod
    def of(cls, page: PlacedPage) -> "PlacedPageResponse":
        """From the library's shape."""
        return cls(page_number=page.page_number, boxes=[BoxResponse.of(box) for box in page.boxes], reason=page.reason)


class PassagePlace(ResponseBody):
    """Where the characters [start, end) of a document's text stand."""

    document_id: str
    start: int
    end: int
    pages: list[PlacedPageResponse]
