"""Kinds of sources by name: built in, or from the entry point group `analytiq.sources`.

A package adds a kind by an entry point whose name is the kind and whose object is a `ConnectorType`. A built-in name
cannot be taken over, since stored sources name their kind. A built-in kind that needs an extra of the package names it:
without it the kind is missing, and `load_kind` says how to install it.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import cast

import structlog
from pydantic import JsonValue, ValidationError

from analytiq.errors import FieldError, InvalidInputError
from analytiq.ingestion.sources.base import ConnectorType, KindSchema

log = structlog.get_logger(__name__)

ENTRY_POINT_GROUP = "analytiq.sources"
_ROOM = "analytiq.ingestion.sources.kinds"
BUILT_IN_KINDS = (
    EntryPoint("azure", f"{_ROOM}.azure:AzureConnector", ENTRY_POINT_GROUP),
    EntryPoint("dropbox", f"{_ROOM}.dropbox:DropboxConnector", ENTRY_POINT_GROUP),
    EntryPoint("folder", f"{_ROOM}.folder:FolderConnector", ENTRY_POINT_GROUP),
    EntryPoint("gcs", f"{_ROOM}.gcs:GcsConnector", ENTRY_POINT_GROUP),
    EntryPoint("http", f"{_ROOM}.http_index:HttpIndexConnector", ENTRY_POINT_GROUP),
    EntryPoint("git", f"{_ROOM}.git:GitConnector [git]", ENTRY_POINT_GROUP),
    EntryPoint("s3", f"{_ROOM}.s3:S3Connector", ENTRY_POINT_GROUP),
    EntryPoint("github", f"{_ROOM}.github:GitHubConnector", ENTRY_POINT_GROUP),
    EntryPoint("gitlab", f"{_ROOM}.gitlab:GitLabConnector", ENTRY_POINT_GROUP),
    EntryPoint("sftp", f"{_ROOM}.sftp:SftpConnector [sftp]", ENTRY_POINT_GROUP),
    EntryPoint("smb", f"{_ROOM}.smb:SmbConnector [smb]", ENTRY_POINT_GROUP),
    EntryPoint("sql", f"{_ROOM}.sql:SqlConnector [sql]", ENTRY_POINT_GROUP),
    EntryPoint("slack", f"{_ROOM}.slack:SlackConnector", ENTRY_POINT_GROUP),
    EntryPoint("confluence", f"{_ROOM}.confluence:ConfluenceConnector", ENTRY_POINT_GROUP),
    EntryPoint("jira", f"{_ROOM}.jira:JiraConnector", ENTRY_POINT_GROUP),
    EntryPoint("notion", f"{_ROOM}.notion:NotionConnector", ENTRY_POINT_GROUP),
    EntryPoint("google-drive", f"{_ROOM}.google_drive:GoogleDriveConnector", ENTRY_POINT_GROUP),
    EntryPoint("imap", f"{_ROOM}.imap:ImapConnector", ENTRY_POINT_GROUP),
    EntryPoint("push", f"{_ROOM}.push:PushConnector", ENTRY_POINT_GROUP),
    EntryPoint("onedrive", f"{_ROOM}.onedrive:OneDriveConnector", ENTRY_POINT_GROUP),
    EntryPoint("sharepoint", f"{_ROOM}.sharepoint:SharePointConnector", ENTRY_POINT_GROUP),
    EntryPoint("openapi", f"{_ROOM}.openapi:OpenApiConnector", ENTRY_POINT_GROUP),
    EntryPoint("qna", f"{_ROOM}.qna:QnaConnector", ENTRY_POINT_GROUP),
    EntryPoint("intents", f"{_ROOM}.intents:IntentsConnector", ENTRY_POINT_GROUP),
    EntryPoint("web", f"{_ROOM}.web:WebConnector", ENTRY_POINT_GROUP),
    EntryPoint("webdav", f"{_ROOM}.webdav:WebDavConnector", ENTRY_POINT_GROUP),
    EntryPoint("zendesk", f"{_ROOM}.zendesk:ZendeskConnector", ENTRY_POINT_GROUP),
)


def known_kinds() -> dict[str, ConnectorType]:
    """Return all kinds by name, without those of other packages that cannot be imported."""
    found: dict[str, ConnectorType] = {}
    for entry in BUILT_IN_KINDS:
        try:
            found[entry.name] = cast("ConnectorType", entry.load())
        except ImportError:
            if not entry.extras:
                raise
    built_in = {entry.name for entry in BUILT_IN_KINDS}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name in built_in:
            continue
        try:
            found[entry.name] = cast("ConnectorType", entry.load())
        except Exception:
            # Whatever another package raises, the other kinds stay usable.
            log.exception("sources.kind_unusable", kind=entry.name)
    return found


def load_kind(name: str) -> ConnectorType:
    """Return a kind's class.

    Raises:
        InvalidInputError: no kind has that name; the message lists the known ones.
    """
    kinds = known_kinds()
    if name not in kinds:
        for entry in BUILT_IN_KINDS:
            if entry.name == name:
                extra = ",".join(entry.extras)
                raise InvalidInputError.of_field(
                    "kind",
                    f"The kind {name!r} is not installed here. The operator adds it: pip install 'analytiq[{extra}]'.",
                )
        raise InvalidInputError.of_field(
            "kind", f"Unknown kind of source {name!r}. Known kinds: {', '.join(sorted(kinds))}."
        )
    return kinds[name]


def validated(schema: type[KindSchema], values: Mapping[str, JsonValue], *, field: str) -> KindSchema:
    """Validate settings or credentials by their kind's schema.

    Raises:
        InvalidInputError: names each wrong field, and never a value: it may be a secret.
    """
    try:
        return schema.model_validate(dict(values))
    except ValidationError as error:
        problems = [
            # The reasons of our own validators come with a prefix of pydantic.
            FieldError(
                ".".join([field, *(str(part) for part in item["loc"])]), f"{item['msg'].removeprefix('Value error, ')}."
            )
            for item in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        named = " ".join(f"{problem.field}: {problem.reason}" for problem in problems)
        raise InvalidInputError(named, errors=problems) from None
