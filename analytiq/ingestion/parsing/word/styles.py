"""Styles: what the style of a paragraph or a run says about its role and its visibility."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from analytiq.ingestion.parsing.word.names import (
    any_attribute,
    as_number,
    attribute,
    child_of,
    is_on,
    local_name,
    value_of,
)
from analytiq.ingestion.parsing.word.numbering import NO_NUMBER, NumberRef, number_ref_of
from analytiq.ingestion.parsing.xml_part import Element
from analytiq.models.blocks import BlockKind

_LONGEST_CHAIN = 64
_TINY_HALF_POINTS = 2
_BODY_LEVEL = 9

_HEADING = re.compile(
    r"(?:heading|ü?berschrift|titre|t[ií]tulo|titolo|intestazione|kop|rubrik|overskrift|otsikko|nadpis|nag[łl][óo]wek"
    r"|c[íi]?msor|ba[şs]?l[ıi]?k|заголовок|επικεφαλίδα|見出し|标题|標題|제목|כותרת|عنوان|titlu|naslov"
    r"|antraštė|virsraksts|pealkiri|judul|tiêu đề|หัวเรื่อง)\s*([1-9])(?![0-9])",
    re.IGNORECASE,
)
_KINDS: dict[str, BlockKind] = {
    name: kind
    for kind, names in (
        (
            BlockKind.CAPTION,
            (
                "caption|beschriftung|légende|legende|epígrafe|descripción|didascalia|legenda|bijschrift|beskrivning|"
                "billedtekst|bildetekst|kuvaotsikko|название объекта|題注|题注|図表番号|캡션|table caption|"
                "figure caption|image caption|figure|illustration"
            ),
        ),
        (
            BlockKind.QUOTE,
            (
                "quote|intense quote|block text|zitat|intensives zitat|citation|citation intense|cita|cita destacada|"
                "citazione|citat|citaat|цитата|quotations|block quotation|blockquote|引用文|引用|인용"
            ),
        ),
        (
            BlockKind.CODE,
            (
                "html preformatted|code|source code|sourcecode|code block|codeblock|preformatted text|macro text|"
                "html vorformatiert|préformaté html"
            ),
        ),
    )
    for name in names.split("|")
}
_TITLE_NAMES = (
    "title|titel|titre|título|titolo|tittel|otsikko|název|tytuł|cím|название|заголовок|표제|제목|标题|標題|表題"
)
_TITLES = frozenset(_TITLE_NAMES.split("|"))


class RunLook(NamedTuple):
    """The visibility of a run; None where a style leaves it to another."""

    vanish: bool | None = None
    web_hidden: bool | None = None
    white: bool | None = None
    tiny: bool | None = None
    shaded: bool | None = None
    font: str | None = None

    def over(self, base: "RunLook") -> "RunLook":
        """Return this look where it says anything, else the base's."""
        if self == _PLAIN:
            return base
        return RunLook(
            base.vanish if self.vanish is None else self.vanish,
            base.web_hidden if self.web_hidden is None else self.web_hidden,
            base.white if self.white is None else self.white,
            base.tiny if self.tiny is None else self.tiny,
            base.shaded if self.shaded is None else self.shaded,
            base.font if self.font is None else self.font,
        )


_PLAIN = RunLook()


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """The role of the paragraphs of a style; `level` is a heading's, else 0."""

    level: int = 0
    kind: BlockKind = BlockKind.PARAGRAPH
    is_title: bool = False
    numbering: NumberRef = NO_NUMBER
    numbering_style: str = ""
    look: RunLook = _PLAIN
    starts_page: bool = False


@dataclass(slots=True)
class _Style:
    name: str
    based_on: str = ""
    outline: int | None = None
    numbering: NumberRef = NO_NUMBER
    look: RunLook = _PLAIN
    starts_page: bool | None = None
    has_header_row: bool = False


class Styles:
    """The styles of a document, by id."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, _Style] = {}
        self._default = ""
        self._default_look = look_of(child_of(root, "docDefaults", "rPrDefault", "rPr"))
        self._paragraphs: dict[str, ParagraphStyle] = {}
        self._runs: dict[str, RunLook] = {}
        for element in () if root is None else root.iterchildren("{*}style"):
            style_id = attribute(element, "styleId") or ""
            self._styles[style_id] = _style_of(element, style_id)
            if attribute(element, "type") == "paragraph" and attribute(element, "default") in {"1", "true", "on"}:
                self._default = style_id

    @property
    def numbering_refs(self) -> dict[str, NumberRef]:
        """Return the numbering of each style, for links from lists to styles."""
        return {style_id: style.numbering for style_id, style in self._styles.items()}

    def paragraph(self, style_id: str) -> ParagraphStyle:
        """Return the role of a style, the default one for ""."""
        style_id = style_id or self._default
        if style_id not in self._paragraphs:
            self._paragraphs[style_id] = self._resolved(style_id)
        return self._paragraphs[style_id]

    def run(self, style_id: str) -> RunLook:
        """Return the look of a style of characters."""
        if style_id not in self._runs:
            look = _PLAIN
            for _, style in self._chain(style_id):
                look = look.over(style.look)
            self._runs[style_id] = look
        return self._runs[style_id]

    def has_header_row(self, style_id: str) -> bool:
        """Return True if a style of tables sets off the first row."""
        return any(style.has_header_row for _, style in self._chain(style_id))

    def _chain(self, style_id: str) -> Iterator[tuple[str, _Style]]:
        for _ in range(_LONGEST_CHAIN):
            style = self._styles.get(style_id)
            if style is None:
                return
            yield style_id, style
            style_id = style.based_on

    def _resolved(self, style_id: str) -> ParagraphStyle:
        # A style that the document does not define is known by its id alone.
        chain = list(self._chain(style_id)) or [(style_id, _Style(style_id))]
        names = [style.name.lower() for _, style in chain]
        look, starts_page = _PLAIN, None
        numbered = next(((own, style) for own, style in chain if style.numbering.num_id is not None), None)
        for _, style in chain:
            look = look.over(style.look)
            starts_page = style.starts_page if starts_page is None else starts_page
        is_title = names[0] in _TITLES
        return ParagraphStyle(
            level=1 if is_title else _level_of(chain),
            kind=next((_KINDS[name] for name in names if name in _KINDS), BlockKind.PARAGRAPH),
            is_title=is_title,
            numbering=numbered[1].numbering if numbered else NO_NUMBER,
            numbering_style=numbered[0] if numbered else "",
            look=look.over(self._default_look),
            starts_page=bool(starts_page),
        )


def _level_of(chain: list[tuple[str, _Style]]) -> int:
    for _, style in chain:
        if style.outline is not None:
            return 0 if style.outline >= _BODY_LEVEL else style.outline + 1
        named = _HEADING.match(style.name)
        if named:
            return int(named[1])
    return 0


def outline_of(properties: Element | None) -> int | None:
    """Return the outline level in properties: 0 to 8 for headings, 9 for the body; None if they do not say."""
    element = child_of(properties, "outlineLvl")
    return None if element is None else min(max(as_number(value_of(element), _BODY_LEVEL), 0), _BODY_LEVEL)


def _style_of(element: Element, style_id: str) -> _Style:
    properties = child_of(element, "pPr")
    page_break = child_of(properties, "pageBreakBefore")
    return _Style(
        name=value_of(child_of(element, "name"), style_id).strip(),
        based_on=value_of(child_of(element, "basedOn")),
        outline=outline_of(properties),
        numbering=number_ref_of(properties),
        look=look_of(child_of(element, "rPr")),
        starts_page=None if page_break is None else is_on(page_break),
        has_header_row=any(attribute(part, "type") == "firstRow" for part in element.iterchildren("{*}tblStylePr")),
    )


def look_of(properties: Element | None) -> RunLook:
    """Return the look that the properties of a run state themselves."""
    if properties is None:
        return _PLAIN
    vanish = web_hidden = white = tiny = shaded = font = None
    for element in properties:
        match local_name(element):
            case "vanish":
                vanish = is_on(element)
            case "webHidden":
                web_hidden = is_on(element)
            case "color":
                white = is_white(element)
            case "sz":
                tiny = 0 < as_number(value_of(element)) <= _TINY_HALF_POINTS
            case "shd":
                shaded = is_shaded(element)
            case "highlight":
                shaded = value_of(element) not in {"", "none", "white"}
            case "rFonts":
                font = attribute(element, "ascii") or attribute(element, "hAnsi")
            case _:
                pass
    return RunLook(vanish, web_hidden, white, tiny, shaded, font)


def is_white(color: Element) -> bool:
    """Return True for the colour of an unmarked page."""
    if value_of(color).upper() == "FFFFFF":
        return True
    return attribute(color, "themeColor") in {"background1", "bg1"} and any_attribute(color, "themeShade") is None


def is_shaded(shading: Element | None) -> bool:
    """Return True if a shading is another than white."""
    if shading is None:
        return False
    fill = (attribute(shading, "fill") or "auto").upper()
    is_filled = fill not in {"AUTO", "FFFFFF"} or attribute(shading, "themeFill") not in {None, "background1"}
    return is_filled or value_of(shading) not in {"", "clear", "nil"}
