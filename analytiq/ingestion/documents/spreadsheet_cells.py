"""Text in CSV files that no spreadsheet runs as a formula."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings that spreadsheets interpret as a formula, full width included (OWASP, "CSV Injection")."""


def neutralised(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet would run it; do not pass numbers."""
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text
