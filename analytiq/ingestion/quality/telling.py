"""The sentences that tell a document's owner about its flaws."""

from collections.abc import Iterator, Sequence

from analytiq.models.flaws import Flaw, FlawKind
from analytiq.models.text import DocumentText, PageLocator, TextSource

WHOLE_SHARE = 0.8
MOST_RUNS = 12

_SAID = {
    FlawKind.NOISE: "unreadable: {reason}",
    FlawKind.MISDECODED: "decoded with a wrong charset: {reason}",
    FlawKind.MACHINE_TEXT: "machine text: {reason}",
    FlawKind.VISUAL_ORDER: "reversed: its right-to-left words begin with their last letters",
}
_ADVICE = {
    FlawKind.NOISE: "Upload a copy with readable text.",
    FlawKind.MISDECODED: "Save the original as UTF-8, and upload it again.",
    FlawKind.MACHINE_TEXT: "Search finds it like other text, unless the organization's settings leave it out.",
    FlawKind.VISUAL_ORDER: "Upload a copy whose words are stored in reading order.",
}


def flaw_warnings(text: DocumentText, *, is_pdf: bool = False) -> list[str]:
    """Return a sentence for each kind of flaw: where it is, why it is one, and what to do."""
    warnings = [
        f"{_place(text, flaws)} {_SAID[kind].format(reason=flaws[0].reason)}. {_advice(text, flaws, is_pdf=is_pdf)}"
        for kind in _SAID
        if (flaws := [flaw for flaw in text.flaws if flaw.kind is kind])
    ]
    unread = [*_unread_pages(text)]
    if unread:
        picture = "shows a picture or a drawing" if len(unread) == 1 else "show pictures or drawings"
        warnings.append(f"{_pages(unread)} {picture}, and no text was found. Compare with the original.")
    return warnings


def _advice(text: DocumentText, flaws: Sequence[Flaw], *, is_pdf: bool) -> str:
    advice = _ADVICE[flaws[0].kind]
    if not is_pdf or flaws[0].kind is FlawKind.MACHINE_TEXT:
        return advice
    locator = PageLocator(text.pages)
    flawed = {number for flaw in flaws for number in _range(locator, flaw)}
    if any(page.source is TextSource.EMBEDDED for page in text.pages if page.page_number in flawed):
        pages = "this page" if len(flawed) == 1 else "these pages"
        return f"Read {pages} by OCR, or {advice[0].lower()}{advice[1:]}"
    return advice


def _place(text: DocumentText, flaws: Sequence[Flaw]) -> str:
    covered = sum(flaw.end - flaw.start for flaw in flaws)
    if len(text.pages) > 1:
        locator = PageLocator(text.pages)
        pages = sorted({number for flaw in flaws for number in _range(locator, flaw)})
        verb = "is" if len(pages) == 1 else "are"
        length = sum(page.end - page.start for page in text.pages if page.page_number in set(pages))
        return f"{_pages(pages)} {verb}{'' if covered >= WHOLE_SHARE * length else ' partly'}"
    if covered >= WHOLE_SHARE * len(text.text):
        return "The text is"
    return f"{covered:,} of {len(text.text):,} characters, from character {flaws[0].start:,} on, are"


def _range(locator: PageLocator, flaw: Flaw) -> range:
    first, last = locator.between(flaw.start, flaw.end)
    return range(first, last + 1)


def _unread_pages(text: DocumentText) -> Iterator[int]:
    """Yield the pages without text that no other warning names: OCR that is not installed is told by itself."""
    starts = {flaw.start for flaw in text.flaws if flaw.kind is FlawKind.NOT_READ}
    for page in text.pages:
        if page.start in starts and page.start == page.end and page.source is not TextSource.NEEDS_OCR:
            yield page.page_number


def _pages(numbers: Sequence[int]) -> str:
    """Return `Page 3`, or `Pages 3-5, 9`."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:MOST_RUNS]]
    if len(runs) > MOST_RUNS:
        shown.append("…")
    return f"{'Page' if len(numbers) == 1 else 'Pages'} {', '.join(shown)}"
