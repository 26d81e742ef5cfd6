"""Google Drive's API over real HTTP on the loopback, as it is documented. Only a test tool.

It refuses wrong signatures, missing and expired tokens, unknown parameters, and tokens of pages that are not known any
more (400). Files of the editors have no content, only exports.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.fakes.consents import Consents
from tests.fakes.server_loop import AppServer

Json = dict[str, Any]
FOLDER = "application/vnd.google-apps.folder"
DOCUMENT = "application/vnd.google-apps.document"
LIST = {
    "q",
    "orderBy",
    "pageSize",
    "fields",
    "supportsAllDrives",
    "includeItemsFromAllDrives",
    "corpora",
    "driveId",
    "pageToken",
}
CHANGES = {
    "pageSize",
    "fields",
    "includeRemoved",
    "supportsAllDrives",
    "includeItemsFromAllDrives",
    "driveId",
    "pageToken",
}
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PRIVATE = _KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()


class GoogleDriveServer:
    """An account's drive."""

    def __init__(self, *, port: int = 0) -> None:
        app = web.Application()
        app.router.add_post("/token", self._token)
        app.router.add_get("/o/oauth2/v2/auth", self._authorize)
        app.router.add_get("/drive/v3/changes/startPageToken", self._start)
        app.router.add_get("/drive/v3/changes", self._changes)
        app.router.add_get("/drive/v3/files", self._list)
        app.router.add_get("/drive/v3/files/{file}", self._file)
        app.router.add_get("/drive/v3/files/{file}/export", self._export)
        self._server = AppServer(app, port=port)
        scopes = frozenset(("https://www.googleapis.com/auth/drive.readonly",))
        needs = {"access_type": "offline", "prompt": "consent"}
        self.sign_in = Consents(("client", "secret"), scopes, self._issue, needs=needs)
        self.token, self._issued = "token-1", 1
        self.files: dict[str, Json] = {"root-folder": {"id": "root-folder", "name": "My Drive", "mimeType": FOLDER}}
        self.contents: dict[str, bytes] = {}
        self.log: list[str] = []
        self.oldest = 0
        self.generation = 1
        self.calls: list[str] = []
        self.page_items = 100
        self.script: list[tuple[int, Mapping[str, str]]] = []
        self.subjects: list[str | None] = []
        self.refuses_exports = False
        self._clock = 0

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def settings(self) -> dict[str, Any]:
        return {"api_url": self.url, "login_url": self.url}

    @property
    def credentials(self) -> dict[str, Any]:
        account = {"client_email": "robot@project.iam.gserviceaccount.com", "private_key": PRIVATE}
        return {"service_account": json.dumps({"type": "service_account", **account})}

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def write(self, path: str, content: str, *, mime_type: str = "text/plain") -> str:
        """Store a file, with its folders; return its id."""
        *folders, name = path.split("/")
        parent = "root-folder"
        for folder in folders:
            parent = self._child(parent, folder) or self._add(parent, folder, FOLDER)
        file = self._child(parent, name) or self._add(parent, name, mime_type)
        data = content.encode()
        self.contents[file] = data
        self._clock += 1
        self.files[file]["modifiedTime"] = f"2026-01-01T00:00:00.{self._clock:06}Z"
        if mime_type != DOCUMENT:
            checksum = hashlib.md5(data, usedforsecurity=False).hexdigest()
            self.files[file] |= {"size": str(len(data)), "md5Checksum": checksum}
        self.log.append(file)
        return file

    def change(self, file: str, **fields: Any) -> None:
        self.files[file].update(fields)
        self.log.append(file)

    def delete(self, file: str) -> None:
        del self.files[file]
        self.log.append(file)

    def expire_positions(self) -> None:
        self.generation += 1

    def expire_token(self) -> None:
        self._issued += 1
        self.token = f"token-{self._issued}"

    def id_of(self, name: str) -> str:
        return next(file for file, found in self.files.items() if found["name"] == name)

    def _child(self, parent: str, name: str) -> str | None:
        for file, found in self.files.items():
            if found["name"] == name and found.get("parents") == [parent]:
                return file
        return None

    def _add(self, parent: str, name: str, mime_type: str) -> str:
        file = f"1File_{len(self.files)}-{len(self.log)}"
        self.files[file] = {"id": file, "name": name, "mimeType": mime_type, "parents": [parent], "trashed": False}
        self.files[file]["webViewLink"] = f"https://drive.google.com/file/d/{file}/view"
        self.log.append(file)
        return file

    def _issue(self) -> str:
        self.expire_token()
        return self.token

    async def _authorize(self, request: web.Request) -> web.Response:
        return await self.sign_in.authorize(request)

    async def _token(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return self.sign_in.exchange(form)
        public = _KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        claims = jwt.decode(str(form["assertion"]), RSAKey.import_key(public), algorithms=["RS256"]).claims
        if claims["aud"] != f"{self.url}/token" or not claims["scope"].endswith("drive.readonly"):
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.subjects.append(claims.get("sub"))
        self.expire_token()
        return web.json_response({"access_token": self.token, "expires_in": 3599, "token_type": "Bearer"})

    def _require(self, request: web.Request, parameters: set[str]) -> None:
        self.calls.append(request.path)
        if self.script:
            status, headers = self.script.pop(0)
            raise _failure(status, "scripted", headers)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise _failure(401, "authError")
        if unknown := set(request.query) - parameters:
            raise _failure(400, f"invalid: {unknown}")

    async def _start(self, request: web.Request) -> web.Response:
        self._require(request, {"supportsAllDrives", "driveId"})
        return web.json_response({"startPageToken": f"{self.generation}:{len(self.log)}"})

    async def _list(self, request: web.Request) -> web.Response:
        self._require(request, LIST)
        if request.query["q"] != "trashed = false" or int(request.query["pageSize"]) > 1000:
            raise _failure(400, "invalid")
        start = self._position(request.query.get("pageToken", f"{self.generation}:0"))
        # The service does not list the root, and lists folders anywhere.
        present = [file for file in self.files.values() if file.get("parents") and not file["trashed"]]
        answer: Json = {"files": present[start : start + self.page_items]}
        if start + self.page_items < len(present):
            answer["nextPageToken"] = f"{self.generation}:{start + self.page_items}"
        return web.json_response(answer)

    async def _changes(self, request: web.Request) -> web.Response:
        self._require(request, CHANGES)
        start = self._position(request.query["pageToken"])
        changed = self.log[start : start + self.page_items]
        changes = [
            {"fileId": file, "removed": file not in self.files, "file": self.files.get(file)}
            for file in dict.fromkeys(changed)
        ]
        after = start + len(changed)
        key = "nextPageToken" if after < len(self.log) else "newStartPageToken"
        return web.json_response({"changes": changes, key: f"{self.generation}:{after}"})

    def _position(self, token: str) -> int:
        generation, _, start = token.partition(":")
        if generation != str(self.generation):
            raise _failure(400, "Invalid Value: pageToken")
        return int(start)

    async def _file(self, request: web.Request) -> web.Response:
        self._require(request, {"fields", "supportsAllDrives", "alt"})
        file = self._found(request)
        if request.query.get("alt") == "media":
            if file["mimeType"].startswith("application/vnd.google-apps"):
                raise _failure(403, "fileNotDownloadable")
            return web.Response(body=self.contents[file["id"]])
        return web.json_response(file)

    async def _export(self, request: web.Request) -> web.Response:
        self._require(request, {"mimeType"})
        file = self._found(request)
        if self.refuses_exports:
            raise _failure(403, "exportSizeLimitExceeded")
        return web.Response(body=f"{request.query['mimeType']}: ".encode() + self.contents[file["id"]])

    def _found(self, request: web.Request) -> Json:
        file = self.files.get(request.match_info["file"])
        if file is None:
            raise _failure(404, "notFound")
        return file


def _failure(status: int, reason: str, headers: Mapping[str, str] | None = None) -> web.HTTPException:
    body = json.dumps({"error": {"code": status, "errors": [{"reason": reason}], "message": reason}})

    class Failure(web.HTTPException):
        status_code = status

    return Failure(text=body, content_type="application/json", headers=headers)
