"""Turning of a page, so that its text stands upright and is read from the left."""

from dataclasses import dataclass

from analytiq.ingestion.parsing.pdf_layout.model import Bounds


@dataclass(frozen=True, slots=True)
class Turning:
    """Quarter turns, and then a reflection for a page that is read from the right.

    With its reflection, a right-to-left page has its first column, first cell and indents at the left, as others do.
    """

    quarters: int = 0
    is_mirrored: bool = False

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Turn a point of the page."""
        x, y = turned(self.quarters, x, y)
        return (-x, y) if self.is_mirrored else (x, y)

    def bounds(self, area: Bounds) -> Bounds:
        """Turn a rectangle of the page."""
        area = turned_bounds(self.quarters, area)
        return mirrored(area) if self.is_mirrored else area

    def back(self, area: Bounds) -> Bounds:
        """Return a turned rectangle to the page's own coordinates."""
        return turned_bounds(-self.quarters, mirrored(area) if self.is_mirrored else area)


def mirrored(area: Bounds) -> Bounds:
    """Reflect a rectangle at the left edge of the page."""
    return Bounds(-area.x1, area.y0, -area.x0, area.y1)


def turned(quarter: int, x: float, y: float) -> tuple[float, float]:
    """Turn a point of the page by quarter turns, so that the text stands upright."""
    match quarter % 4:
        case 1:
            return -y, x
        case 2:
            return -x, -y
        case 3:
            return y, -x
        case _:
            return x, y


def turned_bounds(quarter: int, bounds: Bounds) -> Bounds:
    """Turn a rectangle by quarter turns."""
    ax, ay = turned(quarter, bounds.x0, bounds.y0)
    bx, by = turned(quarter, bounds.x1, bounds.y1)
    return Bounds(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
