"""Advice for unreadable files."""

_SAVE_AS = "Open it and save it as {}, then upload that."
_UNPACK = "Unpack it and upload the files in it."
_TEXT_OF_A_FILM = "Upload its transcript or subtitles as text."

_ADVICE = {
    "application/vnd.oasis.opendocument.graphics": ("Drawings", _SAVE_AS.format(".pdf")),
    "application/postscript": ("PostScript files", _SAVE_AS.format(".pdf")),
    "application/vnd.apple.pages": ("Pages documents", _SAVE_AS.format(".docx or .pdf")),
    "application/vnd.apple.numbers": ("Numbers spreadsheets", _SAVE_AS.format(".xlsx or .csv")),
    "application/vnd.apple.keynote": ("Keynote presentations", _SAVE_AS.format(".pptx or .pdf")),
    "application/x-mobipocket-ebook": ("Kindle books", _SAVE_AS.format(".epub")),
    "application/vnd.apache.parquet": ("Parquet files", "Export the table as .csv or .xlsx, then upload that."),
    "application/vnd.sqlite3": ("Databases", "Export its tables as .csv, then upload those."),
    "image/heic": ("HEIC pictures", _SAVE_AS.format(".jpg or .png")),
    "image/avif": ("AVIF pictures", _SAVE_AS.format(".jpg or .png")),
    "image/svg+xml": ("SVG drawings", _SAVE_AS.format(".pdf or .png")),
    **dict.fromkeys(
        (
            "application/x-7z-compressed",
            "application/vnd.rar",
            "application/zstd",
        ),
        ("Archives", _UNPACK),
    ),
}


def advice_for(content_type: str) -> str | None:
    """Return a sentence that names the format and an alternative to upload; None for unknown types."""
    kind, _, _ = content_type.partition("/")
    if kind in {"audio", "video"}:
        return f"Sound and films cannot be read. {_TEXT_OF_A_FILM}"
    known = _ADVICE.get(content_type)
    return None if known is None else f"{known[0]} cannot be read. {known[1]}"
