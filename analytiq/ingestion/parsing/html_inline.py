"""The running words of a paragraph as HTML gives them: piece by piece, blanks collapsed."""

import re

from analytiq.ingestion.parsing.html_tree import Element

_BLANKS = re.compile(r"[^\S\n]+|\n")
_RAISED = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
_ALWAYS_APART = frozenset({"a", "kbd"})
_NEVER_APART = frozenset({"sub", "sup", "wbr", "font"})


class InlineText:
    """Collects the pieces of a paragraph."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._readings: list[str] = []
        self.is_in_ruby = False
        self._ended: Element | None = None
        self._has_gap = False
        self._is_line_blank = True
        self._ends_with_value = False

    @property
    def is_line_blank(self) -> bool:
        """Return True if no word stands on the present line."""
        return self._is_line_blank

    def add(self, text: str) -> None:
        """Add words as written."""
        if not text:
            return
        words = _BLANKS.sub(" ", text.replace("\xad", ""))
        if words.isspace():
            self._append(" ")
            return
        if not words:
            return
        if not self.is_in_ruby:
            self._close_readings()
        if self._has_gap and self._last().isalnum() and (words[0].isupper() or words[0].isdigit()):
            self._append(" ")
        self._append(words)
        self._is_line_blank = self._ends_with_value = False

    def add_space(self) -> None:
        """Part what follows from the words so far."""
        self._append(" ")

    def add_mark(self, mark: str) -> None:
        """Part what follows from the words so far by a mark."""
        if not self._is_line_blank and (not self._parts or self._parts[-1] != mark):
            self._close_readings()
            self._append(mark)

    def add_value(self, value: str) -> None:
        """Add the value of a field behind its label."""
        value = " ".join(value.split())
        if value:
            last = self._last_word_end()
            parted = " " if self._ends_with_value or self._is_line_blank or last in ":?☒☐" else ": "
            if parted == ": ":
                self._strip_end()
            self._append(parted)
            self.add(value)
            self._append(" ")
            self._ends_with_value = True

    def add_raised(self, text: str) -> None:
        """Add a superscript: `10^6` behind a digit, `m²` behind a letter, other words as they are."""
        text = text.strip()
        is_exponent = bool(text) and text.translate(_RAISED) != text and all(sign in "0123456789+-−n" for sign in text)
        last = self._last()
        if is_exponent and (last.isdigit() or last == ")"):
            self.add(f"^{text}")
        elif is_exponent and last.isalpha():
            self.add(text.translate(_RAISED))
        else:
            self.add(text)

    def add_reading(self, text: str) -> None:
        """Note the reading of ruby; readings of adjoining bases are given together behind them."""
        if reading := "".join(text.split()):
            self._readings.append(reading)

    def end_line(self) -> None:
        """Begin a new line."""
        self._close_readings()
        self._append("\n")
        self._is_line_blank = True

    def begin(self, element: Element) -> None:
        """Note the start of an inline element: neighbors of different kinds are often drawn apart."""
        ended = self._ended
        if ended is not None and not {ended.tag, element.tag} & _NEVER_APART:
            is_same = ended.tag == element.tag and ended.get("class") == element.get("class")
            self._has_gap = self._has_gap or ended.tag in _ALWAYS_APART or not is_same

    def end(self, element: Element) -> None:
        """Note the end of an inline element."""
        self._ended = element

    def take(self) -> str:
        """Return the words so far, and begin anew."""
        self._close_readings()
        lines = "".join(self._parts).split("\n")
        self.__init__()
        return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)

    def _append(self, piece: str) -> None:
        self._parts.append(piece)
        self._ended = None
        self._has_gap = False

    def _last(self) -> str:
        return self._parts[-1][-1] if self._parts else " "

    def _last_word_end(self) -> str:
        return next((part.rstrip()[-1] for part in reversed(self._parts[-3:]) if part.strip()), " ")

    def _strip_end(self) -> None:
        while self._parts and self._parts[-1].isspace():
            self._parts.pop()
        if self._parts:
            self._parts[-1] = self._parts[-1].rstrip()

    def _close_readings(self) -> None:
        if self._readings:
            readings, self._readings = "".join(self._readings), []
            self._parts.append(f"({readings})")
