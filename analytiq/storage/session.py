"""Names of the driver for the layers above, so that only `analytiq.storage` imports the driver."""

from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import PyMongoError

Session = AsyncClientSession
"""An open transaction, in a form that hides the driver."""

DatabaseError = PyMongoError
"""Base class of the driver's errors; `analytiq.storage.client.translate` recognizes temporary ones."""
