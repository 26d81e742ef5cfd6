"""Names of documents from names that a service gives, whatever characters those have."""

import unicodedata
from collections.abc import Sequence

from analytiq.ingestion.documents.naming import LONGEST_NAME, LONGEST_PATH, is_control

LONGEST_FOLDERS = LONGEST_PATH - LONGEST_NAME - 1


def path_name(folders: Sequence[str], name: str, *, ending: str = "") -> str:
    """Return the name of a document in its folders, valid for every input.

    Folders that do not fit are left out, the innermost last. `ending` is added unless the name has it.
    """
    bare = name[: -len(ending)] if ending and name.lower().endswith(ending.lower()) else name
    last = segment(bare, longest=LONGEST_NAME - len(ending)) + ending
    kept: list[str] = []
    left = LONGEST_FOLDERS
    for folder in folders:
        part = segment(folder, longest=LONGEST_NAME)
        left -= len(part) + 1
        if left < 0:
            break
        kept.append(part)
    return "/".join([*kept, last])


def segment(text: str, *, longest: int = LONGEST_NAME) -> str:
    """Return a text as the name of one file or folder."""
    shown = "".join(" " if is_control(character) or character in "/\\" else character for character in text[:4096])
    kept = " ".join(unicodedata.normalize("NFC", shown).split())[:longest].strip()
    return kept if kept.strip(". ") else "_"
