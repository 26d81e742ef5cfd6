"""Wire shapes of where passages stand."""

from analytiq.models.geometry import Box, PageBoxes, Unplaced
from api.schemas.wire import ResponseBody


class BoxResponse(ResponseBody):
    """A rectangle in fractions of the page as it is shown; `left` and `width` are of the page's width."""

    left: float
    top: float
    width: float
    height: float

    @classmethod
    def of(cls, box: Box) -> "BoxResponse":
        """From the library's shape."""
        return cls(left=box.left, top=box.top, width=box.width, height=box.height)


class PageBoxesResponse(ResponseBody):
    """The part `[start, end)` of the text that lies on one page.

    `unplaced` says why there is no box: `format` (not a PDF or an image), `needs_ocr`, `unreadable`, or `differs` (the
    words on the page are not for certain those that were extracted). A part of white space needs none.
    """

    page_number: int
    start: int
    end: int
    boxes: list[BoxResponse]
    unplaced: Unplaced | None

    @classmethod
    def of(cls, page: PageBoxes) -> "PageBoxesResponse":
        """From the library's shape."""
        return cls(
            page_number=page.page_number,
            start=page.start,
            end=page.end,
            boxes=[BoxResponse.of(box) for box in page.boxes],
            unplaced=page.unplaced,
        )


class DocumentBoxes(ResponseBody):
    """Where a passage stands, by page in order."""

    document_id: str
    pages: list[PageBoxesResponse]
