"""Names of documents, and what makes two uploads the same document."""

import hashlib
import unicodedata

from analytiq.errors import InvalidInputError

LONGEST_NAME = 255
DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They turn the writing around, so that `report\\u202efdp.exe` looks like a PDF; Arabic and Hebrew names need none."""


def validated_name(name: str, *, field: str = "document_name") -> str:
    """The name as it is kept.

    Raises:
        InvalidInputError: empty, too long, or with characters that control where or in which direction it is written.
    """
    kept = unicodedata.normalize("NFC", name).strip()
    if not kept:
        raise InvalidInputError.of_field(field, "a document needs a name")
    if len(kept) > LONGEST_NAME:
        raise InvalidInputError.of_field(field, f"longer than {LONGEST_NAME} characters")
    if any(is_control(character) for character in kept):
        raise InvalidInputError.of_field(field, "control characters are not allowed in a name")
    return kept


def is_control(character: str) -> bool:
    """Whether it moves the cursor, ends a line or turns the writing around: what a name may hide behind."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in DIRECTION_CONTROLS


def identity_of(document_name: str, sha256: str, *, copy_of: str | None = None) -> str:
    """The key under which the same bytes with the same name are one document.

    `copy_of`: the id of a document that was deliberately made a second time (`on_duplicate: create`).
    """
    parts = [document_name, sha256] if copy_of is None else [document_name, sha256, copy_of]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
