"""Formulas of Word (OMML) as LaTeX."""

import re
import unicodedata
from collections.abc import Callable

from analytiq.ingestion.parsing.word.names import any_attribute, child_of, local_name
from analytiq.ingestion.parsing.xml_part import Element

_SIGNS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩϵϑϕϱϖς×÷±∓≤≥≠≈≡∼∝∞∂∇∈∉∋⊂⊆⊃⊇∪∩∅∀∃¬∧∨→←↔⇒⇐⇔↦⋅∘∗…⋯⋮∑∏∐∫∬∭∮⋃⋂⟨⟩‖⊕⊗⊥∥∠ℏℓ√"
_COMMANDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega varepsilon vartheta varphi varrho varpi varsigma "
    "times div pm mp leq geq neq approx equiv sim propto infty partial nabla in notin ni subset subseteq supset "
    "supseteq cup cap emptyset forall exists neg wedge vee to leftarrow leftrightarrow Rightarrow Leftarrow "
    "Leftrightarrow mapsto cdot circ ast ldots cdots vdots sum prod coprod int iint iiint oint bigcup bigcap langle "
    "rangle Vert oplus otimes perp parallel angle hbar ell surd"
)
_SYMBOLS = dict(zip(_SIGNS, _COMMANDS.split(), strict=True))
_ESCAPED = frozenset("%#&_{}$")
_ACCENTS = {
    "\u0302": "hat",
    "^": "hat",
    "\u0303": "tilde",
    "~": "tilde",
    "\u0304": "bar",
    "\u0305": "overline",
    "¯": "bar",
    "\u20d7": "vec",
    "→": "vec",
    "\u0307": "dot",
    "\u0308": "ddot",
    "\u030c": "check",
    "\u0306": "breve",
}
_FUNCTION = re.compile(
    r"(?<![A-Za-z\\])(sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|log|ln|lg|exp|lim|max|min|sup|inf|det"
    r"|dim|ker|deg|gcd|arg)(?![A-Za-z])"
)
_INVISIBLE = re.compile("[\u2061-\u2064\u200b]")
"""Signs between a function and its argument that only programs read."""
_NEXT_ROW = r" \\ "
_DELIMITERS = {"{": r"\{", "}": r"\}", "": "."}


def formula(element: Element) -> str:
    """Return an `oMath` or `oMathPara` between dollar signs; "" if it is empty."""
    latex = " ".join(_latex(element).split())
    return f"${latex}$" if latex else ""


def shown_math(text: str) -> str:
    """Return the text of a formula's run in LaTeX."""
    written: list[str] = []
    for sign in _FUNCTION.sub(r"\\\1 ", _INVISIBLE.sub("", text)):
        plain = unicodedata.normalize("NFKC", sign) if 0x1D400 <= ord(sign) <= 0x1D7FF else sign
        for one in plain:
            name = _SYMBOLS.get(one)
            written.append(f"\\{name} " if name else f"\\{one}" if one in _ESCAPED else one)
    return "".join(written)


def _latex(element: Element) -> str:
    name = local_name(element)
    if name == "r":
        return _run(element)
    write = _WRITERS.get(name)
    if write is not None:
        return write(element)
    if name.endswith("Pr") or name in {"del", "moveFrom"}:
        return ""
    return "".join(_latex(child) for child in element)


def _run(element: Element) -> str:
    text = "".join(child.text or "" for child in element.iterchildren("{*}t", "{*}delText"))
    if child_of(element, "rPr", "nor") is not None and text.strip():
        return rf"\text{{{text}}}"
    return shown_math(text)


def _part(element: Element, name: str) -> str:
    child = child_of(element, name)
    return "" if child is None else _latex(child).strip()


def _property(element: Element, name: str, default: str) -> str:
    """Return a property of an object; without a value it is empty, such as a delimiter that is not shown."""
    for child in element.iterchildren(f"{{*}}{local_name(element)}Pr"):
        found = child_of(child, name)
        if found is not None:
            return any_attribute(found, "val") or ""
    return default


def _grouped(text: str) -> str:
    return text if text.replace(".", "").isalnum() or (text.startswith("\\") and text[1:].isalpha()) else f"{{{text}}}"


def _fraction(element: Element) -> str:
    above, below = _part(element, "num"), _part(element, "den")
    kind = _property(element, "type", "bar")
    if kind == "lin":
        return f"{above}/{below}"
    return rf"{{{above} \atop {below}}}" if kind == "noBar" else rf"\frac{{{above}}}{{{below}}}"


def _scripts(element: Element) -> str:
    text = _grouped(_part(element, "e"))
    for name, mark in (("sub", "_"), ("sup", "^")):
        part = _part(element, name)
        text += f"{mark}{{{part}}}" if part else ""
    return text


def _before(element: Element) -> str:
    return f"{{}}_{{{_part(element, 'sub')}}}^{{{_part(element, 'sup')}}}{_grouped(_part(element, 'e'))}"


def _root(element: Element) -> str:
    degree = _part(element, "deg")
    return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_part(element, 'e')}}}"


def _n_ary(element: Element) -> str:
    text = shown_math(_property(element, "chr", "∫")).strip()
    for name, mark in (("sub", "_"), ("sup", "^")):
        part = _part(element, name)
        text += f"{mark}{{{part}}}" if part else ""
    return f"{text} {_part(element, 'e')}"


def _delimited(element: Element) -> str:
    begin, end = _property(element, "begChr", "("), _property(element, "endChr", ")")
    separator = _property(element, "sepChr", "|")
    content = separator.join(_latex(child).strip() for child in element.iterchildren("{*}e"))
    return rf"\left{_delimiter(begin)}{content}\right{_delimiter(end)}"


def _delimiter(sign: str) -> str:
    return _DELIMITERS.get(sign) or (shown_math(sign) if sign in _SYMBOLS else sign)


def _function(element: Element) -> str:
    return f"{_part(element, 'fName')} {_grouped(_part(element, 'e'))}"


def _lower_limit(element: Element) -> str:
    return f"{_part(element, 'e')}_{{{_part(element, 'lim')}}}"


def _upper_limit(element: Element) -> str:
    return f"{_part(element, 'e')}^{{{_part(element, 'lim')}}}"


def _matrix(element: Element) -> str:
    rows = (
        " & ".join(_latex(cell).strip() for cell in row.iterchildren("{*}e")) for row in element.iterchildren("{*}mr")
    )
    return rf"\begin{{matrix}} {_NEXT_ROW.join(rows)} \end{{matrix}}"


def _equations(element: Element) -> str:
    rows = (_latex(row).strip() for row in element.iterchildren("{*}e"))
    return rf"\begin{{aligned}} {_NEXT_ROW.join(rows)} \end{{aligned}}"


def _accent(element: Element) -> str:
    return rf"\{_ACCENTS.get(_property(element, 'chr', '^'), 'hat')}{{{_part(element, 'e')}}}"


def _bar(element: Element) -> str:
    return rf"\{'overline' if _property(element, 'pos', 'bot') == 'top' else 'underline'}{{{_part(element, 'e')}}}"


def _group(element: Element) -> str:
    side = "over" if _property(element, "pos", "bot") == "top" else "under"
    return rf"\{side}brace{{{_part(element, 'e')}}}"


def _box(element: Element) -> str:
    return rf"\boxed{{{_part(element, 'e')}}}"


_WRITERS: dict[str, Callable[[Element], str]] = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _before,
    "rad": _root,
    "nary": _n_ary,
    "d": _delimited,
    "func": _function,
    "limLow": _lower_limit,
    "limUpp": _upper_limit,
    "m": _matrix,
    "eqArr": _equations,
    "acc": _accent,
    "bar": _bar,
    "groupChr": _group,
    "borderBox": _box,
}
