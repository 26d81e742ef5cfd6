"""The documentation uses the terms of docs/glossary.md, and its links and file names exist."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PYTHON_FILE = re.compile(r"`([\w/]+\.py)`")

INSTEAD_OF = {
    r"legs?": "retriever",
    r"lanes?": "partition",
    r"mirror(s|ed)?": "replica",
    r"epochs?": "index version",
    r"trails?": "trace",
    r"chores?": "periodic task",
    r"bur(y|ies|ied)": "failed job",
    r"shel(f|ves)": "index cache",
    r"hollow": "incomplete",
    r"(index of|search(ed)? by|found by) words": "keyword index, keyword search",
    r"nobody|somebody|whoever": "a noun of the glossary",
    r"anew": "again",
    r"so many": "a number",
}
"""Terms of earlier texts by the terms that the field uses. Identifiers in code spans are free."""


def prose(page: Path) -> str:
    """Return the page's text with its code blanked out, line by line."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), page.read_text())


def anchors(page: Path) -> set[str]:
    """Return the anchors of the page's headings, as GitHub makes them."""
    headings = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(page.read_text()))
    return {heading.strip().replace(" ", "-") for heading in headings}


def replaced_terms() -> Iterator[str]:
    for page in PAGES:
        for number, line in enumerate(prose(page).splitlines(), 1):
            for term, better in INSTEAD_OF.items():
                if found := re.search(rf"\b({term})\b", line, re.IGNORECASE):
                    yield f"{page.relative_to(ROOT)}:{number}: write {better!r} instead of {found.group()!r}"


def dead_links() -> Iterator[str]:
    for page in PAGES:
        for target, anchor in LINK.findall(prose(page)):
            if "://" in target:
                continue
            linked = (page.parent / target).resolve() if target else page
            if not linked.exists() or (anchor and anchor not in anchors(linked)):
                yield f"{page.relative_to(ROOT)}: {target}#{anchor}"


def missing_files() -> Iterator[str]:
    packages = ("analytiq", "api", "workers", "reconciler", "benchmarks", "tests", "scripts", "docs")
    files = ["/" + path.relative_to(ROOT).as_posix() for package in packages for path in (ROOT / package).rglob("*.py")]
    for page in PAGES:
        for name in PYTHON_FILE.findall(page.read_text()):
            if not any(file.endswith("/" + name) for file in files):
                yield f"{page.relative_to(ROOT)}: {name}"


def test_prose_uses_the_terms_of_the_field() -> None:
    assert list(replaced_terms()) == []


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    assert list(dead_links()) == []


def test_every_python_file_that_a_page_names_exists() -> None:
    assert list(missing_files()) == []
