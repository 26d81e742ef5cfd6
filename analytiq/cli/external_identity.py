"""`--source`, `--external-id`, `--external-version` and `--source-url` of `analytiq ingest`."""

from analytiq.cli.files import Found
from analytiq.client import ExternalIdentity
from analytiq.errors import InvalidInputError


def read_external_identity(
    source: str | None, external_id: str | None, version: str | None, *, found: Found, watch: bool
) -> ExternalIdentity | None:
    """Read the source item of a single file; return None without one.

    Raises:
        InvalidInputError: a part is missing, or there are several files.
    """
    if source is None and external_id is None and version is None:
        return None
    if source is None or external_id is None:
        raise InvalidInputError("An item has a source and an id. Give --source and --external-id together.")
    if watch or len(found.files) != 1:
        raise InvalidInputError("--external-id names the item of one file. Give one file, without --watch.")
    return ExternalIdentity(source=source, external_id=external_id, version=version)


def require_single_file(source_url: str | None, *, found: Found, watch: bool) -> None:
    """Check that an address is given for one file only.

    Raises:
        InvalidInputError: there are several files.
    """
    if source_url is not None and (watch or len(found.files) != 1):
        raise InvalidInputError("--source-url is the address of one file. Give one file, without --watch.")
