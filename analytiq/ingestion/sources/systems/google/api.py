"""Calls to Google Drive, and the tokens for them."""

import json
import re
from collections.abc import AsyncIterator
from typing import Literal, cast

from pydantic import Field, JsonValue, SecretStr, field_validator

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import SEVERAL_LINES, KindSchema, PositionExpiredError, SourceContext
from analytiq.ingestion.sources.connections.oauth import (
    AccessTokens,
    Form,
    OAuthCredentials,
    SignInService,
    TokenClient,
    refresh_form,
)
from analytiq.ingestion.sources.connections.service_client import Parameters
from analytiq.ingestion.sources.connections.wire import read_as
from analytiq.ingestion.sources.systems.google.wire import ChangePage, DriveFile, FilePage, StartToken

SERVICE = "Google Drive"
SCOPE = "https://www.googleapis.com/auth/drive.readonly"
TOKEN_URIS = ("https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token")
"""The addresses that a service account's key may name; the key is sent to none of them, but signs for one."""
LOGIN = "https://oauth2.googleapis.com"
CONSENT = "https://accounts.google.com/o/oauth2/v2/auth"
ASSERTION_SECONDS = 3600
PAGE_ITEMS = 200
FOLDER = "application/vnd.google-apps.folder"
_FILE = (
    "id,name,mimeType,parents,size,md5Checksum,modifiedTime,webViewLink,trashed,capabilities/canDownload,"
    "permissions(type,emailAddress,domain,deleted)"
)
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_FOLDER_ADDRESS = re.compile(r"https://drive\.google\.com/drive/(?:u/\d+/)?folders/([A-Za-z0-9_-]+)(?:[/?#].*)?")
_ORIGIN = r"^https?://[^\s/?#]+/?$"


class GoogleDriveSettings(KindSchema):
    """The settings of a Google Drive."""

    folder: str | None = Field(
        default=None, max_length=500, title="Folder", description="Address or id: only what is in it, at any depth"
    )
    drive: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9_-]{1,200}$", title="Shared drive", description="Id: only this shared drive"
    )
    user: str | None = Field(
        default=None,
        max_length=320,
        title="User",
        description="Person whose files a service account with domain-wide delegation reads, such as ada@example.com",
    )
    documents_as: Literal["office", "html"] = Field(
        default="office",
        title="Google Docs as",
        description="office: as Word, Excel and PowerPoint. html: documents as HTML",
    )
    api_url: str = Field(default="https://www.googleapis.com", max_length=300, pattern=_ORIGIN, title="API address")
    login_url: str = Field(default=LOGIN, max_length=300, pattern=_ORIGIN, title="Sign-in address")

    @field_validator("folder")
    @classmethod
    def _names_a_folder(cls, value: str | None) -> str | None:
        if value is None or not value.strip():
            return None
        found = _FOLDER_ADDRESS.fullmatch(value.strip())
        folder = found[1] if found else value.strip()
        if not is_id(folder):
            raise ValueError("Must be the address of a folder at drive.google.com, or its id")
        return folder


class GoogleCredentials(OAuthCredentials):
    """A service account, or the tokens of a sign-in."""

    service_account: SecretStr | None = Field(
        default=None,
        title="Service account",
        description="The key as JSON text, as Google's console gives it",
        json_schema_extra=SEVERAL_LINES,
    )


def sign_in_service(settings: GoogleDriveSettings) -> SignInService:
    """Return where a person signs in."""
    base = settings.login_url.rstrip("/")
    # Consent has a host of its own.
    consent = CONSENT if base == LOGIN else f"{base}/o/oauth2/v2/auth"
    parameters = {"access_type": "offline", "prompt": "consent"}
    return SignInService(SERVICE, consent, f"{base}/token", (SCOPE,), parameters)


class GoogleRequests:
    """Requests for tokens: signed by a service account, or with a refresh token."""

    def __init__(self, settings: GoogleDriveSettings, credentials: GoogleCredentials) -> None:
        self.token_url = f"{settings.login_url.rstrip('/')}/token"
        self._user = settings.user
        self._credentials = credentials
        self._account = _account(credentials.service_account)

    def form(self, refresh_token: str | None) -> Form | None:
        """See TokenRequests."""
        if self._account is not None:
            return {
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "assertion": self._assertion(self._account),
            }
        return refresh_form(self._credentials, refresh_token)

    def _assertion(self, account: dict[str, str]) -> str:
        # Loaded at the first use: it takes 5 MB, and most sources need none.
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import RSAKey

        now = int(clock.now().timestamp())
        claims: dict[str, str | int] = {
            "iss": account["client_email"],
            "scope": SCOPE,
            "aud": self.token_url,
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
        }
        if self._user:
            claims["sub"] = self._user
        try:
            key = RSAKey.import_key(account["private_key"])
            return jwt.encode({"alg": "RS256", "typ": "JWT"}, claims, key)
        except (JoseError, ValueError):
            raise _wrong_account("Its private key cannot be read.") from None


class DriveApi:
    """Google Drive, as far as it is read."""

    def __init__(self, settings: GoogleDriveSettings, credentials: GoogleCredentials, context: SourceContext) -> None:
        tokens = AccessTokens(context, GoogleRequests(settings, credentials), credentials, service=SERVICE)
        self._client = TokenClient(
            context.operator, f"{settings.api_url.rstrip('/')}/drive/v3", tokens, service=SERVICE
        )
        self._drive = settings.drive

    async def start_token(self) -> str:
        """Return the position of the changes that come."""
        parameters = {"supportsAllDrives": "true", **self._of_drive()}
        return read_as(StartToken, await self._client.get("/changes/startPageToken", parameters), service=SERVICE).token

    async def files(self, token: str | None) -> FilePage:
        """Return a page of all files and folders that are not in the trash.

        Raises:
            PositionExpiredError: the token is not known any more.
        """
        corpus = {"corpora": "drive"} if self._drive else {"corpora": "user"}
        parameters: Parameters = {
            "q": "trashed = false",
            "orderBy": "createdTime",
            "pageSize": PAGE_ITEMS,
            "fields": f"nextPageToken,incompleteSearch,files({_FILE})",
            "supportsAllDrives": "true",
            "includeItemsFromAllDrives": "true",
            **corpus,
            **self._of_drive(),
        }
        return read_as(FilePage, await self._page("/files", parameters, token), service=SERVICE)

    async def changes(self, token: str) -> ChangePage:
        """Return a page of changes.

        Raises:
            PositionExpiredError: the token is not known any more.
        """
        parameters: Parameters = {
            "pageSize": PAGE_ITEMS,
            "fields": f"nextPageToken,newStartPageToken,changes(fileId,removed,file({_FILE}))",
            "includeRemoved": "true",
            "supportsAllDrives": "true",
            "includeItemsFromAllDrives": "true",
            **self._of_drive(),
        }
        return read_as(ChangePage, await self._page("/changes", parameters, token), service=SERVICE)

    async def file(self, file_id: str) -> DriveFile:
        """Return a file or a folder.

        Raises:
            NotFoundError: it does not exist, or is not visible.
        """
        if not is_id(file_id):
            raise NotFoundError("No file has such an id.")
        answer = await self._client.get(f"/files/{file_id}", {"fields": _FILE, "supportsAllDrives": "true"})
        return read_as(DriveFile, answer, service=SERVICE)

    def content(self, file_id: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file."""
        return self._client.download(f"/files/{file_id}?alt=media&supportsAllDrives=true", most_bytes=most_bytes)

    def exported(self, file_id: str, content_type: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield a document of Google's editors in another format."""
        quoted = content_type.replace("/", "%2F").replace("+", "%2B")
        return self._client.download(f"/files/{file_id}/export?mimeType={quoted}", most_bytes=most_bytes)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _page(self, path: str, parameters: Parameters, token: str | None) -> JsonValue:
        if token is None:
            return await self._client.get(path, parameters)
        try:
            return await self._client.get(path, {**parameters, "pageToken": token})
        except PositionExpiredError:
            raise
        except (PermanentError, NotFoundError):
            # A token that is not known any more is a wrong parameter: status 400 or 404.
            raise PositionExpiredError(f"{SERVICE} does not know the position any more.") from None

    def _of_drive(self) -> dict[str, str]:
        return {"driveId": self._drive} if self._drive else {}


def is_id(text: str) -> bool:
    """Return True for the form of a file's id."""
    return _ID.fullmatch(text) is not None


def _account(key: SecretStr | None) -> dict[str, str] | None:
    """Read the key of a service account.

    Raises:
        InvalidInputError: it is none, or names a token address that is not Google's.
    """
    if key is None:
        return None
    try:
        found: object = json.loads(key.get_secret_value())
    except ValueError:
        raise _wrong_account("It must be the JSON text of a key.") from None
    fields = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    account = {name: value for name, value in fields.items() if isinstance(value, str)}
    if not {"client_email", "private_key"} <= account.keys():
        raise _wrong_account("It must have client_email and private_key.")
    if account.get("token_uri", TOKEN_URIS[0]) not in TOKEN_URIS:
        raise _wrong_account("Its token_uri is not Google's.")
    return account


def _wrong_account(reason: str) -> InvalidInputError:
    return InvalidInputError.of_field("credentials.service_account", reason)
