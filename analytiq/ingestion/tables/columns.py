"""The type of a column, from all of its values; a value that does not fit keeps its column a text.

A query must not leave a value out of a sum because it could not be read, so a column is typed only if every value is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from analytiq.ingestion.tables.collecting import ValuedText
from analytiq.ingestion.tables.moments import Moment, Order, of_value, read_moment
from analytiq.ingestion.tables.numbers import Number, Style, read_number
from analytiq.models.tables import ColumnType, TableColumn

NO_VALUES = frozenset(
    {"", "-", "–", "—", "n/a", "n.a.", "na", "null", "none", "nan", "k.a.", "k. a.", "nil", "?", "#n/a", "#nv"}
)
"""Words for a missing value, in lower case; they do not keep a column from being typed."""
_BOOLEANS = (("true", "false"), ("yes", "no"), ("ja", "nein"), ("wahr", "falsch"), ("y", "n"), ("j", "n"))
_SAMPLE = 200
_LIKELY_SHARE = 0.5
"""Share of values from which a text column is told to be nearly of another type."""
_MOST_DIGITS = 18
"""Of an integer, which 64 bits hold."""
_DECIMAL_WIDTH = 38
_MOST_SCALE = 12
_SHOWN_VALUE = 40


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column with its values as text of its stored type; None for a missing value."""

    column: TableColumn
    texts: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class _Misfit:
    """A value that does not fit."""

    place: int
    text: str


def typed_column(name: str, cells: Sequence[str], *, style: Style = Style.ENGLISH) -> TypedColumn:
    """Type a column.

    Args:
        name: unique in the table.
        cells: a value for each row, "" for none.
        style: of ambiguous numbers such as `1.234`, if the column does not tell it.
    """
    values = [(place, cell) for place, cell in enumerate(cells) if cell.strip().lower() not in NO_VALUES]
    if not values:
        return _text(name, cells, len(values), note="No value." if not any(cells) else "")
    booleans = _booleans(values)
    if booleans is not None:
        return _column(name, ColumnType.BOOLEAN, "BOOLEAN", cells, booleans)
    notes: list[tuple[int, str]] = []
    for read in (_numbers, _moments):
        found = read(name, cells, values, style)
        if isinstance(found, TypedColumn):
            return found
        if found is not None:
            notes.append(found)
    unfit, note = min(notes, default=(0, ""))
    return _text(name, cells, len(values), unfit=unfit, note=note)


def style_of(columns: Sequence[Sequence[str]]) -> Style:
    """Return the writing of a table's numbers, from those that are not ambiguous."""
    counts = {Style.ENGLISH: 0, Style.GERMAN: 0}
    for cells in columns:
        for cell in cells[:_SAMPLE]:
            number = None if isinstance(cell, ValuedText) else read_number(cell)
            if number is not None and number.style in counts:
                counts[number.style] += 1
    return Style.GERMAN if counts[Style.GERMAN] > counts[Style.ENGLISH] else Style.ENGLISH


def _booleans(values: Sequence[tuple[int, str]]) -> dict[int, str] | None:
    words = {_word(cell) for _, cell in values[:_SAMPLE]}
    pair = next((pair for pair in _BOOLEANS if words <= set(pair)), None)
    if pair is None or not {_word(cell) for _, cell in values} <= set(pair):
        return None
    return {place: "true" if _word(cell) == pair[0] else "false" for place, cell in values}


def _word(cell: str) -> str:
    value = cell.value if isinstance(cell, ValuedText) else None
    return str(value).lower() if isinstance(value, bool) else cell.strip().lower()


def _numbers(
    name: str, cells: Sequence[str], values: Sequence[tuple[int, str]], style: Style
) -> TypedColumn | tuple[int, str] | None:
    """Return a column of numbers, or the number of misfits with the reason; None if few values are numbers."""
    if not _is_likely(values, lambda cell: _number_of(cell) is not None):
        return None
    numbers: dict[int, Number | Decimal] = {}
    misfits: list[_Misfit] = []
    for place, cell in values:
        number = _number_of(cell)
        if number is None:
            misfits.append(_Misfit(place, cell))
        else:
            numbers[place] = number
    if misfits:
        return _misfit_note(misfits, len(values), "numbers")
    refusal = _refused(cells, numbers)
    if refusal is not None:
        return refusal
    written = [number for number in numbers.values() if isinstance(number, Number)]
    styles = {number.style for number in written}
    own = next((one for one in (Style.ENGLISH, Style.GERMAN) if one in styles), style)
    note = ""
    if Style.EITHER in styles and not styles & {Style.ENGLISH, Style.GERMAN}:
        example = next(number.digits for number in written if number.style is Style.EITHER)
        note = f"Values such as {example!r} are read with {own.value} marks."
    decimals = {place: n.value(own) if isinstance(n, Number) else n for place, n in numbers.items()}
    unit = next((unit for unit in (_unit_of(cells[place], n) for place, n in numbers.items()) if unit), "")
    return _of_decimals(name, cells, decimals, unit=unit, note=note)


def _number_of(cell: str) -> Number | Decimal | None:
    value = cell.value if isinstance(cell, ValuedText) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None if isinstance(value, bool | date | time | timedelta) else read_number(cell)
    if value != value or value in (float("inf"), float("-inf")):
        return None
    shown = read_number(cell)
    if shown is not None and shown.has_leading_zero:
        return shown
    number = Decimal(value) if isinstance(value, int) else Decimal(f"{value:.15g}")
    return number.scaleb(2) if cell.rstrip().endswith("%") else number


def _unit_of(cell: str, number: Number | Decimal) -> str:
    shown = number if isinstance(number, Number) else read_number(cell)
    return "" if shown is None else shown.unit


def _refused(cells: Sequence[str], numbers: dict[int, Number | Decimal]) -> tuple[int, str] | None:
    """Return why numbers are no numbers to calculate with."""
    written = {place: number for place, number in numbers.items() if isinstance(number, Number)}
    zeros = [number.digits for number in written.values() if number.has_leading_zero]
    if zeros:
        return len(zeros), f"Values such as {zeros[0]!r} begin with a zero, as codes do."
    styles = {number.style for number in written.values()}
    if {Style.ENGLISH, Style.GERMAN} <= styles:
        fewer = min(
            sum(number.style is style for number in written.values()) for style in (Style.ENGLISH, Style.GERMAN)
        )
        return fewer, "Numbers are written with German and with English marks."
    units = sorted({unit for place, n in numbers.items() if (unit := _unit_of(cells[place], n))})
    if len(units) > 1:
        return 0, f"Amounts are in {', '.join(units[:5])}."
    return None


def _of_decimals(
    name: str, cells: Sequence[str], decimals: dict[int, Decimal], *, unit: str, note: str
) -> TypedColumn | tuple[int, str]:
    scale = whole = 0
    for number in decimals.values():
        _sign, digits, exponent = number.as_tuple()
        if not isinstance(exponent, int):
            return 0, "A number is not finite."
        scale = max(scale, -exponent)
        whole = max(whole, len(digits) + exponent)
    if scale <= 0 and whole <= _MOST_DIGITS:
        texts = {place: str(int(number)) for place, number in decimals.items()}
        return _column(name, ColumnType.INTEGER, "BIGINT", cells, texts, unit=unit, note=note)
    scale = max(scale, 0)
    if scale <= 0 and all(number == number.to_integral_value() for number in decimals.values()):
        longest = max(decimals.values(), key=abs)
        return 0, f"Values such as {_cut(str(longest))} have more than {_MOST_DIGITS} digits, as codes do."
    if scale <= _MOST_SCALE and whole + scale <= _DECIMAL_WIDTH:
        width = max(_MOST_DIGITS, whole + scale)
        texts = {place: f"{number:f}" for place, number in decimals.items()}
        return _column(name, ColumnType.DECIMAL, f"DECIMAL({width},{scale})", cells, texts, unit=unit, note=note)
    texts = {place: repr(float(number)) for place, number in decimals.items()}
    return _column(name, ColumnType.DECIMAL, "DOUBLE", cells, texts, unit=unit, note=note)


def _moments(
    name: str, cells: Sequence[str], values: Sequence[tuple[int, str]], style: Style
) -> TypedColumn | tuple[int, str] | None:
    """Return a column of dates or times, or the number of misfits with the reason; None if few values are dates."""
    del style
    if not _is_likely(values, lambda cell: _moment_of(cell) is not None):
        return None
    moments: dict[int, Moment | datetime] = {}
    misfits: list[_Misfit] = []
    for place, cell in values:
        moment = _moment_of(cell)
        if moment is None:
            misfits.append(_Misfit(place, cell))
        else:
            moments[place] = moment
    if misfits:
        return _misfit_note(misfits, len(values), "dates")
    orders = {moment.order for moment in moments.values() if isinstance(moment, Moment)}
    if {Order.DAY_FIRST, Order.MONTH_FIRST} <= orders:
        return 1, "Some dates have the day first, others the month."
    own = next((order for order in (Order.DAY_FIRST, Order.MONTH_FIRST) if order in orders), Order.EITHER)
    if Order.EITHER in orders and own is Order.EITHER:
        example = next(cells[place] for place, m in moments.items() if isinstance(m, Moment) and m.order is own)
        return 0, f"Day and month of dates such as {_cut(example)} cannot be told apart."
    read = {place: m.value(own) if isinstance(m, Moment) else m for place, m in moments.items()}
    has_time = any(isinstance(m, Moment) and m.offset is not None for m in moments.values()) or any(
        moment.time() != time() for moment in read.values()
    )
    if has_time:
        texts = {place: moment.isoformat(sep=" ") for place, moment in read.items()}
        return _column(name, ColumnType.TIMESTAMP, "TIMESTAMP", cells, texts)
    texts = {place: moment.date().isoformat() for place, moment in read.items()}
    return _column(name, ColumnType.DATE, "DATE", cells, texts)


def _moment_of(cell: str) -> Moment | datetime | None:
    value = cell.value if isinstance(cell, ValuedText) else None
    if isinstance(value, date):
        return of_value(value)
    if isinstance(value, str) and value is not cell and (stated := read_moment(value)) is not None:
        return stated
    return None if isinstance(value, bool | int | float | time | timedelta) else read_moment(cell)


def _is_likely(values: Sequence[tuple[int, str]], fits: Callable[[str], bool]) -> bool:
    sample = values[:_SAMPLE]
    return sum(fits(cell) for _, cell in sample) >= _LIKELY_SHARE * len(sample)


def _misfit_note(misfits: Sequence[_Misfit], count: int, what: str) -> tuple[int, str]:
    first = misfits[0]
    return len(misfits), (
        f"{count - len(misfits)} of {count} values are {what}; {_cut(first.text)} in row {first.place + 1} is not."
    )


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_VALUE else text[: _SHOWN_VALUE - 1] + "…")


def _text(name: str, cells: Sequence[str], count: int, *, unfit: int = 0, note: str = "") -> TypedColumn:
    column = TableColumn(name, ColumnType.TEXT, "VARCHAR", value_count=count, unfit_count=unfit, note=note)
    return TypedColumn(column, [str(cell) or None for cell in cells])


def _column(
    name: str,
    kind: ColumnType,
    stored_type: str,
    cells: Sequence[str],
    texts: dict[int, str],
    *,
    unit: str = "",
    note: str = "",
) -> TypedColumn:
    missing = sum(1 for place, cell in enumerate(cells) if cell and place not in texts)
    said = f"{missing} cells such as 'n/a' have no value." if missing else ""
    column = TableColumn(
        name, kind, stored_type, unit, value_count=len(texts), unfit_count=missing,
        note=" ".join(part for part in (note, said) if part),
    )  # fmt: skip
    return TypedColumn(column, [texts.get(place) for place in range(len(cells))])
