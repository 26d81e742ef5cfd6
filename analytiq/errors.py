"""Errors of the library: each tells its receiver what to do.

    AnalytiqError
    ├── InvalidInputError        fix the call
    ├── NotFoundError            it does not exist (or is not yours)
    ├── ConflictError            reload, then decide again
    ├── AccessDeniedError        use other credentials
    ├── QuotaExceededError       raise the quota, then the same call works
    ├── TransientError           call again later
    │   ├── RateLimitedError         not before `retry_after` seconds
    │   │   └── PostponedError           the job itself asks to go on after just as long
    │   ├── ProviderUnavailableError  the provider fails; costs no attempt, however long it lasts
    │   └── StoreLoadingError        the knowledge base is still being loaded into memory
    ├── PermanentError           calling again gives the same answer: dead-letter
    │   ├── UnsupportedFormatError
    │   ├── ParserUnavailableError   the installation cannot import the parser of this kind of file
    │   ├── EncryptedFileError
    │   │   └── WrongPasswordError
    │   ├── CorruptFileError
    │   ├── EmptyDocumentError
    │   ├── LimitExceededError       the file needs more than a document may have
    │   │   └── MemoryLimitError     of memory
    │   ├── DimensionMismatchError   the model's vectors are not those of the knowledge base
    │   └── ProviderRefusedError     the embedding provider will never accept this call
    │       └── CallRefusedError         it refuses this content: a smaller call may pass
    └── LeaseLostError           stop, write nothing

Two tables read the classes: `api.problems` (HTTP status) and `analytiq.jobs.queue.retry` (outcome of the job).
No code decides by the text of a message.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """A fault in one field of a call: a JSON path such as `metadata_filter.$where`, and the reason."""

    field: str
    reason: str


class AnalytiqError(Exception):
    """Root of the library's errors; `detail` is a sentence for a person, `code` is stable for programs."""

    code = "internal_error"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if code is not None:
            self.code = code


class InvalidInputError(AnalytiqError):
    """The call is invalid; `errors` names the fields."""

    code = "invalid_input"

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = (), code: str | None = None) -> None:
        super().__init__(detail, code=code)
        self.errors = tuple(errors)

    @classmethod
    def of_field(cls, field: str, reason: str, *, code: str | None = None) -> "InvalidInputError":
        """Return an error about a single field."""
        return cls(f"{field}: {reason}", errors=[FieldError(field, reason)], code=code)


class NotFoundError(AnalytiqError):
    """Nothing with that id exists in the caller's organization."""

    code = "not_found"


class ConflictError(AnalytiqError):
    """The state changed concurrently, or forbids the call; reload and decide again."""

    code = "conflict"


class StaleVersionError(ConflictError):
    """The call was based on an older version; reload, and decide about both changes."""

    code = "stale_version"


class AccessDeniedError(AnalytiqError):
    """The caller is unknown, or lacks the permission."""

    code = "access_denied"


class QuotaExceededError(AnalytiqError):
    """The organization has no SPUs left for the call, or no room for the file (code `storage_quota_exceeded`)."""

    code = "quota_exceeded"


class TransientError(AnalytiqError):
    """The call may succeed later; `retry_after` is the least wait in seconds, where known."""

    code = "temporarily_unavailable"

    def __init__(self, detail: str, *, retry_after: float | None = None, code: str | None = None) -> None:
        super().__init__(detail, code=code)
        self.retry_after = retry_after


class RateLimitedError(TransientError):
    """A provider or our own limit asks to slow down."""

    code = "rate_limited"


class PostponedError(RateLimitedError):
    """The job goes on after `retry_after` seconds, however many; it bounds its waits itself."""

    code = "postponed"


class ProviderUnavailableError(TransientError):
    """A model's provider fails or is unreachable; work waits until it recovers."""

    code = "provider_unavailable"


class TransactionTooLargeError(TransientError):
    """A transaction does not fit into the database's cache; nothing was changed. A smaller one may succeed."""

    code = "transaction_too_large"


class StoreLoadingError(TransientError):
    """The knowledge base's vectors are still being loaded into this process."""

    code = "knowledge_base_loading"


class PermanentError(AnalytiqError):
    """A retry fails in the same way; the job is dead-lettered."""

    code = "permanent_error"


class UnsupportedFormatError(PermanentError):
    """No parser reads this kind of file."""

    code = "unsupported_format"


class ParserUnavailableError(PermanentError):
    """The parser of this kind of file cannot be imported; the file may be fine."""

    code = "parser_unavailable"


class EncryptedFileError(PermanentError):
    """The file opens only with a password."""

    code = "encrypted_file"


class WrongPasswordError(EncryptedFileError):
    """The given password does not open the file."""

    code = "wrong_password"


class CorruptFileError(PermanentError):
    """The bytes are not a readable file of their kind."""

    code = "corrupt_file"


class EmptyDocumentError(PermanentError):
    """The file has no bytes."""

    code = "empty_document"


class LimitExceededError(PermanentError):
    """The file needs more memory, time, pages or expansion than a document may have."""

    code = "limit_exceeded"


class MemoryLimitError(LimitExceededError):
    """The file needs more memory than its parser was given."""


class DimensionMismatchError(PermanentError):
    """The embedding model returned vectors of another length than the knowledge base's."""

    code = "dimension_mismatch"


class ProviderRefusedError(PermanentError):
    """The provider refuses the call for good: its key, model or content."""

    code = "provider_refused"


class CallRefusedError(ProviderRefusedError):
    """The provider refuses the content of one call, not its key or model; fewer texts may pass."""


class LeaseLostError(AnalytiqError):
    """Another worker holds the job: stop, and write no outcome."""

    code = "lease_lost"
