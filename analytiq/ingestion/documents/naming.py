"""Names of documents, and the identity of equal uploads."""

import hashlib
import re
import unicodedata
from urllib.parse import urlsplit

from analytiq.errors import InvalidInputError
from analytiq.models.document import ExternalIdentity

LONGEST_NAME = 255
"""Most characters of a file's or folder's name."""
LONGEST_PATH = 1024
LONGEST_ORIGIN = 1024
LONGEST_SOURCE = 100
LONGEST_EXTERNAL_ID = 2048
"""Most characters of an external id, which may be an address."""
LONGEST_VERSION = 256
LONGEST_SOURCE_URL = 2048
DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They reverse the text, so that `report\\u202efdp.exe` looks like a PDF; Arabic and Hebrew names need none."""

_DRIVE = re.compile(r"[A-Za-z]:")


def validated_name(name: str, *, field: str = "document_name") -> str:
    """Validate and normalize a document name.

    Raises:
        InvalidInputError: empty, too long, or with characters that control position or direction of text.
    """
    kept = unicodedata.normalize("NFC", name).strip()
    if not kept:
        raise InvalidInputError.of_field(field, "A document needs a name.")
    if len(kept) > LONGEST_NAME:
        raise InvalidInputError.of_field(field, f"Longer than {LONGEST_NAME} characters.")
    if any(is_control(character) for character in kept):
        raise InvalidInputError.of_field(field, "Control characters are not allowed in a name.")
    return kept


def validated_path(path: str, *, field: str = "path") -> str:
    """Validate and normalize a document's path below a folder, which is the document's name.

    Forward slashes, NFC, no empty segment and no `.`; a name without folders is a path too.

    Raises:
        InvalidInputError: it is absolute, escapes by `..`, is too long, or contains an invalid segment.
    """
    segments = unicodedata.normalize("NFC", path.replace("\\", "/")).split("/")
    segments[-1] = segments[-1].strip()
    if len(segments) > 1 and (not segments[0] or _DRIVE.fullmatch(segments[0])):
        raise InvalidInputError.of_field(field, "Must be relative, such as contracts/2024/a.pdf.")
    if ".." in segments:
        raise InvalidInputError.of_field(field, "Must not hold `..`.")
    *folders, name = [segment for segment in segments if segment not in ("", ".")] or [""]
    if name.strip() in (".", ".."):  # a space may stand after the dots
        raise InvalidInputError.of_field(field, "Must end with a file's name.")
    kept = "/".join([*(_validated_folder(folder, field) for folder in folders), validated_name(name, field=field)])
    if len(kept) > LONGEST_PATH:
        raise InvalidInputError.of_field(field, f"Must have at most {LONGEST_PATH} characters with its folders.")
    return kept


def validated_folder(folder: str, *, field: str = "folder") -> str:
    """Normalize the path of a folder, as `validated_path` does; drop a trailing slash.

    Raises:
        InvalidInputError: it is not a path of a folder.
    """
    kept = validated_path(f"{folder}/x", field=field).removesuffix("/x")
    if kept == "x":
        raise InvalidInputError.of_field(field, "Must name a folder.")
    return kept


def validated_origin(origin: str, *, field: str = "origin") -> str:
    """Validate the name of the directory, with its machine, that documents are ingested from.

    Raises:
        InvalidInputError: it is empty, too long, or contains control characters.
    """
    if not 1 <= len(origin) <= LONGEST_ORIGIN:
        raise InvalidInputError.of_field(field, f"Must have 1 to {LONGEST_ORIGIN} characters.")
    if any(is_control(character) for character in origin):
        raise InvalidInputError.of_field(field, "Must not hold control characters.")
    return origin


def validated_source_url(address: str, *, field: str = "source_url") -> str:
    """Validate the web address of a document's original: http or https, with a host and without credentials.

    Raises:
        InvalidInputError: it is not such an address.
    """
    if not 1 <= len(address) <= LONGEST_SOURCE_URL:
        raise InvalidInputError.of_field(field, f"Must have 1 to {LONGEST_SOURCE_URL} characters.")
    if any(is_control(character) or character.isspace() or character in '<>"\\' for character in address):
        raise InvalidInputError.of_field(field, "Must not hold spaces, quotes, backslashes or control characters.")
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
        parts = urlsplit("")
    if not is_web:
        raise InvalidInputError.of_field(field, "Must be an address such as https://example.com/page.")
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError.of_field(field, "Must not hold a user name or password.")
    return address


def validated_external_identity(identity: ExternalIdentity, *, field: str = "external_identity") -> ExternalIdentity:
    """Validate an external identity; its parts stay as the other system spells them.

    Raises:
        InvalidInputError: a part is empty, too long, or holds control characters.
    """
    parts = (
        ("source", identity.source, LONGEST_SOURCE),
        ("external_id", identity.external_id, LONGEST_EXTERNAL_ID),
        ("version", identity.version, LONGEST_VERSION),
    )
    for name, value, most in parts:
        if value is None:
            continue
        if not 1 <= len(value) <= most:
            raise InvalidInputError.of_field(f"{field}.{name}", f"Must have 1 to {most} characters.")
        if any(is_control(character) for character in value):
            raise InvalidInputError.of_field(f"{field}.{name}", "Must not hold control characters.")
    return identity


def last_component(name: str) -> str:
    """Return the last part of a name that may contain folders in any system's notation, as clients send them.

    Raises:
        InvalidInputError: nothing but a dot or two remains.
    """
    last = re.split(r"[/\\]", name)[-1].strip()
    if last in (".", ".."):
        raise InvalidInputError.of_field("name", f"The name {last!r} is a folder. Give the name of the file.")
    return last


def file_name_of(document_name: str) -> str:
    """Return a document's name without its folders."""
    return document_name.rpartition("/")[2]


def _validated_folder(folder: str, field: str) -> str:
    """Validate a folder's name; keep outer spaces, since "a" and "a " are two folders."""
    validated_name(folder, field=field)
    if len(folder) > LONGEST_NAME:
        raise InvalidInputError.of_field(field, f"Longer than {LONGEST_NAME} characters.")
    return folder


def is_control(character: str) -> bool:
    """Return True if the character moves the cursor, ends a line or reverses the writing direction."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in DIRECTION_CONTROLS


def identity_of(document_name: str, sha256: str, *, copy_of: str | None = None) -> str:
    """Return the key by which uploads of the same bytes under the same name are one document.

    `copy_of`: the id of a deliberate second copy (`on_duplicate: create`).
    """
    parts = [document_name, sha256] if copy_of is None else [document_name, sha256, copy_of]
    return _hashed(parts)


def identity_of_item(item: ExternalIdentity) -> str:
    """Return the key under which all versions of an item of another system are one document."""
    # A document's name is never empty, so no key of `identity_of` begins like this one.
    return _hashed(["", item.source, item.external_id])


def identity_of_part(parent_id: str, path: str) -> str:
    """Return the key under which all versions of a part of a document are one document."""
    return _hashed(["", "", parent_id, path])


def _hashed(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
