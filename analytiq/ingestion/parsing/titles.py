"""Titles that files state: many are what a program wrote by itself, and say nothing."""

import re

from analytiq.ingestion.parsing.sheet_text import one_line

_LONGEST_TITLE = 300
_NOISE = re.compile(
    r"(untitled|unbenannt|ohne titel|sans titre|sin título|senza titolo|title|titel|no slide title|"
    r"presentation|powerpoint[ -]presentation|powerpoint-präsentation|présentation( powerpoint)?|präsentation|"
    r"presentación( de powerpoint)?|presentazione( standard di powerpoint)?|slide|folie|"
    r"workbook|worksheet|spreadsheet|book|mappe|arbeitsmappe|classeur|libro|sheet|document|dokument|"
    r"new microsoft .*|microsoft (word|excel|powerpoint)( - .*)?)[ _-]*\d*",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"\S*\.(xls[xmb]?|ppt[xm]?|od[tsp]|docx?|csv|tmp|indd)", re.IGNORECASE)


def telling_title(*candidates: str) -> str:
    """Return the first title that says something; empty without one."""
    for candidate in candidates:
        title = one_line(candidate)
        if title and not _NOISE.fullmatch(title) and not _FILE_NAME.fullmatch(title):
            return title[:_LONGEST_TITLE]
    return ""
