"""The driver's names that the layers above need, so that only `analytiq.storage` imports the driver."""

from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import PyMongoError

Session = AsyncClientSession
"""An open transaction, handed on without knowing the driver."""

DatabaseError = PyMongoError
"""Root of what the driver raises; `analytiq.storage.client.translate` tells which of it passes by itself."""
