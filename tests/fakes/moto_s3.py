"""Moto's server of S3, which checks signatures and rights."""

import json
import logging
import threading
from typing import Any, Self

import pytest
from moto import settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import get_canned_acl, s3_backends
from pydantic import JsonValue
from werkzeug.serving import make_server

ACCOUNT = "123456789012"
READING = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["s3:ListBucket", "s3:GetObject"], "Resource": "*"}],
}


class MotoS3:
    """A bucket on a server of a test; one at a time in a process, whose state moto keeps."""

    bucket = "documents"

    def __init__(self) -> None:
        self.url = ""
        self.credentials: dict[str, JsonValue] = {}
        self._server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
        # The end waits for the next look.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        # Requests from the first one on need a signature.
        self._patch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)
        self._patch.setattr(ActionAuthenticatorMixin, "request_count", 0)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.port}"
        self._store.create_bucket(self.bucket, "us-east-1")
        people: Any = iam_backends[ACCOUNT]["aws"]
        people.create_user("us-east-1", "reader")
        people.put_user_policy("reader", "reading", json.dumps(READING))
        key = people.create_access_key("reader")
        self.credentials = {"access_key_id": key.access_key_id, "secret_access_key": key.secret_access_key}
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._store.reset()
        iam_backends[ACCOUNT]["aws"].reset()
        self._patch.undo()

    @property
    def _store(self) -> Any:
        return s3_backends[ACCOUNT]["aws"]

    def write(self, key: str, content: bytes, *, storage: str | None = None, is_public: bool = False) -> None:
        """Put an object."""
        written = self._store.put_object(self.bucket, key, content, storage=storage)
        if is_public:
            written.set_acl(get_canned_acl("public-read"))

    def keys(self) -> set[str]:
        """Return the keys of all objects."""
        return set(self._store.get_bucket(self.bucket).keys)

    def set_metadata(self, key: str, metadata: dict[str, str]) -> None:
        """Set headers of an object, such as its type."""
        self._store.get_object(self.bucket, key).set_metadata(metadata)

    def remove(self, key: str) -> None:
        """Delete an object."""
        self._store.delete_object(self.bucket, key)
