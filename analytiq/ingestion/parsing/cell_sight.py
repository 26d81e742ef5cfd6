"""Cells with invisible words: white on white, or too small."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# openpyxl's styles have no types.

from typing import Any

SMALLEST = 1.5
"""Least size of letters that can be read, in points."""
_WHITE = frozenset({"FFFFFFFF", "00FFFFFF"})


class CellSight:
    """Tells by its style whether a cell's words are seen; each style is looked at once."""

    def __init__(self) -> None:
        self._unseen: dict[tuple[int, bool], bool] = {}

    def is_unseen(self, cell: Any, *, has_looks: bool) -> bool:
        """Return True for words of the color of their ground, or too small.

        Args:
            cell: openpyxl's.
            has_looks: True if the ground may be painted by more than the cell's own format.
        """
        key = (int(cell._style_id), has_looks)  # noqa: SLF001 -- the styles of a sheet are few
        if key not in self._unseen:
            size = cell.font.sz
            is_tiny = size is not None and float(size) < SMALLEST
            self._unseen[key] = is_tiny or (not has_looks and _is_white(cell.font.color) and _has_white_ground(cell))
        return self._unseen[key]


def _has_white_ground(cell: Any) -> bool:
    fill = cell.fill
    return fill is None or fill.fill_type is None or (fill.fill_type == "solid" and _is_white(fill.fgColor))


def _is_white(color: Any) -> bool:
    if color is None:
        return False
    if color.type == "theme":
        return color.theme == 0 and not color.tint
    return color.type == "rgb" and color.rgb in _WHITE
