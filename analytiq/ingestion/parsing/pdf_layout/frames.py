"""A page's frame: from the coordinates of its upright text to fractions of the page as displayed."""

from dataclasses import dataclass

from analytiq.ingestion.parsing.pdf_layout.model import Bounds
from analytiq.ingestion.parsing.pdf_layout.turning import Turning
from analytiq.models.boxes import Box


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The visible part of a page.

    Attributes:
        visible: in the page's own coordinates.
        turning: how its text is made upright.
        rotation: degrees by which a viewer turns the page clockwise.
    """

    visible: Bounds
    turning: Turning
    rotation: int

    @property
    def upright(self) -> Bounds:
        """Return the visible part with the text upright."""
        return self.turning.bounds(self.visible)

    def box_of(self, bounds: Bounds) -> Box | None:
        """Return a rectangle of upright coordinates as a box; None outside of the page."""
        return self.box_of_page(self.turning.back(bounds))

    def box_of_page(self, bounds: Bounds) -> Box | None:
        """Return a rectangle of the page's own coordinates as a box; None outside of the page."""
        area = self.visible
        width, height = max(area.x1 - area.x0, 1e-6), max(area.y1 - area.y0, 1e-6)
        left, right = (bounds.x0 - area.x0) / width, (bounds.x1 - area.x0) / width
        top, bottom = (area.y1 - bounds.y1) / height, (area.y1 - bounds.y0) / height
        match self.rotation % 360:
            case 90:
                return clipped(1 - bottom, left, 1 - top, right)
            case 180:
                return clipped(1 - right, 1 - bottom, 1 - left, 1 - top)
            case 270:
                return clipped(top, 1 - right, bottom, 1 - left)
            case _:
                return clipped(left, top, right, bottom)


def clipped(left: float, top: float, right: float, bottom: float) -> Box | None:
    """Return the part of a rectangle on the page; None if there is none."""
    box = Box(max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0))
    return box if box.left < box.right and box.top < box.bottom else None
