"""Error classes of the API's problems: one for each documented code, below the class of its status."""

from analytiq.client.errors import ProblemError
from analytiq.client.problems import (
    STATUS_CLASSES,
    AccessDeniedError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    QuotaExceededError,
    TooLargeError,
    TooManyRequestsError,
    UnavailableError,
    UnprocessableError,
)


class InvalidInputError(InvalidRequestError):
    """The call is invalid; `errors` names the fields."""

    code = "invalid_input"


class UnknownParameterError(InvalidRequestError):
    """The call has an unknown query parameter."""

    code = "unknown_parameter"


class UnknownTagError(InvalidRequestError):
    """The call names a tag that does not exist."""

    code = "unknown_tag"


class UnknownDocumentError(InvalidRequestError):
    """The call names a document that does not exist."""

    code = "unknown_document"


class UnknownKnowledgeBaseError(InvalidRequestError):
    """The call names a knowledge base that does not exist."""

    code = "unknown_knowledge_base"


class UnknownToolError(InvalidRequestError):
    """The model called a tool that does not exist."""

    code = "unknown_tool"


class MetadataMisfitError(InvalidRequestError):
    """A metadata value does not fit its declared type."""

    code = "metadata_misfit"


class MetadataMisfitsError(InvalidRequestError):
    """Stored metadata values do not fit a declaration; `errors` names documents."""

    code = "metadata_misfits"


class AnswerNotBySchemaError(InvalidRequestError):
    """The answer does not fit the prompt's schema."""

    code = "answer_not_by_schema"


class InvalidQueryError(InvalidRequestError):
    """The query of a table is wrong or needs too much."""

    code = "invalid_query"


class QueryInvalidError(InvalidRequestError):
    """The query of a table is not valid SQL."""

    code = "query_invalid"


class QueryRefusedError(InvalidRequestError):
    """The query of a table does something that is not allowed."""

    code = "query_refused"


class InvalidModelNameError(InvalidRequestError):
    """The model's name is invalid or an address."""

    code = "invalid_model_name"


class ModelNotAllowedError(InvalidRequestError):
    """The model is not among the available models."""

    code = "model_not_allowed"


class NoChatModelError(InvalidRequestError):
    """The organization has no chat model."""

    code = "no_chat_model"


class NotConfiguredError(InvalidRequestError):
    """The installation has no reranking model."""

    code = "not_configured"


class ProviderKeyMissingError(InvalidRequestError):
    """The model's provider has no key; store one first."""

    code = "provider_key_missing"


class ProviderNotAllowedError(InvalidRequestError):
    """The operator does not allow this provider."""

    code = "provider_not_allowed"


class SearchTooDeepError(InvalidRequestError):
    """The page of results is beyond what the search server returns."""

    code = "search_too_deep"


class SearchServerMissingError(InvalidRequestError):
    """The database has no search server."""

    code = "search_server_missing"


class NothingSelectedError(InvalidRequestError):
    """The erasure selects nothing."""

    code = "nothing_selected"


class TooManySelectedError(InvalidRequestError):
    """The erasure selects too much for one call."""

    code = "too_many_selected"


class PasswordTooCommonError(InvalidRequestError):
    """The password is among the most common ones; choose another."""

    code = "password_too_common"


class HostKeyUnknownError(InvalidRequestError):
    """The server's host key is unknown; confirm it in the source's settings."""

    code = "host_key_unknown"


class SecretKeyMissingError(InvalidRequestError):
    """The installation has no secret key to encrypt credentials with."""

    code = "secret_key_missing"


class StorageQuotaExceededError(QuotaExceededError):
    """The organization has no room left for the file."""

    code = "storage_quota_exceeded"


class BudgetExceededError(QuotaExceededError):
    """The next call of the model would exceed the token budget."""

    code = "budget_exceeded"


class CsrfRefusedError(AccessDeniedError):
    """The session's token against forged requests is missing or wrong."""

    code = "csrf_refused"


class OidcRefusedError(AccessDeniedError):
    """The identity provider's sign-in was refused."""

    code = "oidc_refused"


class ResetLinkInvalidError(AccessDeniedError):
    """The link to reset the password is invalid or was used."""

    code = "reset_link_invalid"


class PushRefusedError(AccessDeniedError):
    """The push's signature or time is wrong."""

    code = "push_refused"


class CredentialsRefusedError(AccessDeniedError):
    """A service refuses the source's credentials."""

    code = "credentials_refused"


class AddressForbiddenError(AccessDeniedError):
    """The source's address is in a network that is not allowed."""

    code = "address_forbidden"


class FolderNotAllowedError(AccessDeniedError):
    """The operator does not allow this directory."""

    code = "folder_not_allowed"


class RobotsForbidError(AccessDeniedError):
    """The site's robots.txt forbids the address."""

    code = "robots_forbid"


class SignInNeededError(AccessDeniedError):
    """A person must sign the source in to its service."""

    code = "sign_in_needed"


class SignInRefusedError(AccessDeniedError):
    """The service refused the source's sign-in."""

    code = "sign_in_refused"


class SignInDeniedError(AccessDeniedError):
    """The person did not allow the source to read the service."""

    code = "sign_in_denied"


class SignInExpiredError(AccessDeniedError):
    """The source's sign-in took too long; begin again."""

    code = "sign_in_expired"


class NoRefreshTokenError(AccessDeniedError):
    """The service gave the source no lasting permission."""

    code = "no_refresh_token"


class SecretKeyChangedError(AccessDeniedError):
    """Stored credentials were encrypted with another secret key."""

    code = "secret_key_changed"


class InvitationNotFoundError(NotFoundError):
    """The invitation does not exist any more."""

    code = "invitation_not_found"


class NoInboundAddressError(NotFoundError):
    """The source has no inbound address."""

    code = "no_inbound_address"


class AlreadyEmbeddedError(ConflictError):
    """The data resource is indexed already."""

    code = "already_embedded"


class AlreadyMemberError(ConflictError):
    """The person is a member already."""

    code = "already_member"


class AmbiguousReplacementError(ConflictError):
    """Several documents have this name; replace one by its id."""

    code = "ambiguous_replacement"


class AnswerRunningError(ConflictError):
    """The thread's last answer is still running."""

    code = "answer_running"


class CannotContinueError(ConflictError):
    """The answer cannot be continued."""

    code = "cannot_continue"


class DataResourceFailedError(ConflictError):
    """Loading the data resource has failed."""

    code = "data_resource_failed"


class DataResourceLoadingError(ConflictError):
    """The data resource is still being loaded."""

    code = "data_resource_loading"


class DocumentExistsError(ConflictError):
    """Another document has this name and these bytes."""

    code = "document_exists"


class EmailTakenError(ConflictError):
    """Another person has this address."""

    code = "email_taken"


class ErasureRunningError(ConflictError):
    """An erasure is running."""

    code = "erasure_running"


class GlobalCacheNotAllowedError(ConflictError):
    """The operator does not allow this organization to share its cache."""

    code = "global_cache_not_allowed"


class IdempotencyKeyInUseError(ConflictError):
    """The first call with this key is still running."""

    code = "idempotency_key_in_use"


class IdempotencyKeyReusedError(ConflictError):
    """This key was used with another body."""

    code = "idempotency_key_reused"


class JobDoneError(ConflictError):
    """The job ended before it could be cancelled."""

    code = "job_done"


class JobNotCancellableError(ConflictError):
    """A job that deletes cannot be cancelled."""

    code = "job_not_cancellable"


class JobNotDeadError(ConflictError):
    """Only failed jobs can be replayed."""

    code = "job_not_dead"


class KnowledgeBaseDeletedError(ConflictError):
    """The knowledge base was deleted meanwhile."""

    code = "kb_deleted"


class KnowledgeBaseNameTakenError(ConflictError):
    """Another knowledge base has this name."""

    code = "knowledge_base_name_taken"


class KnowledgeBaseInUseError(ConflictError):
    """Prompts search the knowledge base."""

    code = "knowledge_base_in_use"


class LastOwnerError(ConflictError):
    """The organization needs an owner."""

    code = "last_owner"


class NoTextError(ConflictError):
    """The document has no text yet."""

    code = "no_text"


class OwnDescendantError(ConflictError):
    """A token may not take over the token that made it."""

    code = "own_descendant"


class PromptNameTakenError(ConflictError):
    """Another prompt has this name."""

    code = "prompt_name_taken"


class PushReplayedError(ConflictError):
    """The same message with another body was received before."""

    code = "push_replayed"


class QuotaReachedError(ConflictError):
    """The quota is below what is used or reserved."""

    code = "quota_reached"


class ResultReplacedError(ConflictError):
    """Another run has replaced the result."""

    code = "result_replaced"


class RunEndedError(ConflictError):
    """The source's run has ended."""

    code = "run_ended"


class RunOverError(ConflictError):
    """The prompt's run is over."""

    code = "run_over"


class SearchIndexRefusedError(ConflictError):
    """The search server refuses the knowledge base's index."""

    code = "search_index_refused"


class SourceNameTakenError(ConflictError):
    """Another source has this name."""

    code = "source_name_taken"


class SourceRunningError(ConflictError):
    """A run of the source is going on."""

    code = "source_running"


class TagInUseError(ConflictError):
    """Documents, knowledge bases or prompts have the tag."""

    code = "tag_in_use"


class TagNameTakenError(ConflictError):
    """Another tag has this name."""

    code = "tag_name_taken"


class TextReplacedError(ConflictError):
    """The document's text was replaced since."""

    code = "text_replaced"


class TokenRevokedError(ConflictError):
    """The access token was revoked."""

    code = "token_revoked"


class TooManyMakersError(ConflictError):
    """Too many tokens have made one another."""

    code = "too_many_makers"


class TooManyRunsError(ConflictError):
    """Too many runs of the reconciler are waiting."""

    code = "too_many_runs"


class TruthChangedError(ConflictError):
    """The call relies on something that has changed; call again."""

    code = "truth_changed"


class LimitExceededError(TooLargeError):
    """The file or the call exceeds a limit."""

    code = "limit_exceeded"


class UnsupportedFormatError(UnprocessableError):
    """No parser reads this kind of file."""

    code = "unsupported_format"


class ParserUnavailableError(UnprocessableError):
    """The installation lacks the parser of this kind of file."""

    code = "parser_unavailable"


class EncryptedFileError(UnprocessableError):
    """The file opens only with a password."""

    code = "encrypted_file"


class WrongPasswordError(UnprocessableError):
    """The password does not open the file."""

    code = "wrong_password"


class CorruptFileError(UnprocessableError):
    """The bytes are not a readable file of their kind."""

    code = "corrupt_file"


class EmptyDocumentError(UnprocessableError):
    """The file has no bytes."""

    code = "empty_document"


class DimensionMismatchError(UnprocessableError):
    """The model's vectors are not those of the knowledge base."""

    code = "dimension_mismatch"


class ProviderRefusedError(UnprocessableError):
    """The provider refuses the call for good: its key, model or content."""

    code = "provider_refused"


class ProviderAddressForbiddenError(UnprocessableError):
    """The provider's address is in a network that is not allowed."""

    code = "provider_address_forbidden"


class LocalModelMissingError(UnprocessableError):
    """The local embedding model is not installed."""

    code = "local_model_missing"


class LocalModelDamagedError(UnprocessableError):
    """The files of the local embedding model are damaged."""

    code = "local_model_damaged"


class TextRefusedError(UnprocessableError):
    """The provider refuses the text."""

    code = "text_refused"


class NoBrowserError(UnprocessableError):
    """The installation has no browser for pages made by JavaScript."""

    code = "no_browser"


class PositionExpiredError(UnprocessableError):
    """The source no longer knows the position of its changes."""

    code = "position_expired"


class RepositoryTooLargeError(UnprocessableError):
    """The git repository is too large."""

    code = "repository_too_large"


class RepositoryUnreadableError(UnprocessableError):
    """The git repository's data cannot be read."""

    code = "repository_unreadable"


class SourceRateLimitedError(UnprocessableError):
    """The source asks to wait longer than a run may."""

    code = "source_rate_limited"


class RateLimitedError(TooManyRequestsError):
    """A model's provider asks to slow down."""

    code = "rate_limited"


class DocumentsRateLimitedError(TooManyRequestsError):
    """The limit of documents per minute is reached."""

    code = "documents_rate_limited"


class EmbeddedElsewhereError(TooManyRequestsError):
    """Another worker embeds the same text."""

    code = "embedded_elsewhere"


class ErasureWaitsError(TooManyRequestsError):
    """The erasure waits for running work."""

    code = "erasure_waits"


class HeldByBackupError(TooManyRequestsError):
    """A backup holds the data that the call would delete."""

    code = "held_by_backup"


class PostponedError(TooManyRequestsError):
    """The work goes on later."""

    code = "postponed"


class QuotaReservedError(TooManyRequestsError):
    """Running work has reserved the SPUs that are left."""

    code = "quota_reserved"


class TooManyAttemptsError(TooManyRequestsError):
    """Too many failed sign-ins; wait."""

    code = "too_many_attempts"


class TooManySignInsError(TooManyRequestsError):
    """Too many people sign in at once."""

    code = "too_many_sign_ins"


class TooManyWatchersError(TooManyRequestsError):
    """The organization has too many connections for events."""

    code = "too_many_watchers"


class CommitOutcomeUnknownError(UnavailableError):
    """The change may have been made; read the object before you repeat it."""

    code = "commit_outcome_unknown"


class DatabaseUnreachableError(UnavailableError):
    """The database does not answer."""

    code = "database_unreachable"


class TransactionDeadlineError(UnavailableError):
    """The database was too slow."""

    code = "transaction_deadline"


class TransactionTooLargeError(UnavailableError):
    """The change does not fit into the database's cache."""

    code = "transaction_too_large"


class KnowledgeBaseLoadingError(UnavailableError):
    """The knowledge base is being loaded into memory."""

    code = "knowledge_base_loading"


class KeywordIndexDamagedError(UnavailableError):
    """The keyword index is damaged and is being rebuilt."""

    code = "lexical_index_damaged"


class KeywordSearchFailedError(UnavailableError):
    """The keyword search failed."""

    code = "lexical_search_failed"


class SearchIndexBehindError(UnavailableError):
    """The search server's index is behind."""

    code = "search_index_behind"


class SearchServerRefusedError(UnavailableError):
    """The search server refuses the search."""

    code = "search_server_refused"


class SearchServerUnavailableError(UnavailableError):
    """The search server does not answer."""

    code = "search_server_unavailable"


class SnapshotTooOldError(UnavailableError):
    """The read took longer than the database keeps its history."""

    code = "snapshot_too_old"


class ProviderUnavailableError(UnavailableError):
    """A model's provider fails or does not answer."""

    code = "provider_unavailable"


class ProviderUnknownError(UnavailableError):
    """The provider's host name cannot be resolved."""

    code = "provider_unknown"


class MalformedAnswerError(UnavailableError):
    """The provider's answer is malformed."""

    code = "malformed_answer"


class StreamCutError(UnavailableError):
    """The provider ended its answer too early."""

    code = "stream_cut"


class TimedOutError(UnavailableError):
    """A model or a step of the search took too long."""

    code = "timeout"


class MailUnavailableError(UnavailableError):
    """The mail server does not answer."""

    code = "mail_unavailable"


class OidcMisconfiguredError(UnavailableError):
    """The identity provider's settings are wrong."""

    code = "oidc_misconfigured"


class OidcUnavailableError(UnavailableError):
    """The identity provider does not answer."""

    code = "oidc_unavailable"


class ParsersNotIsolatedError(UnavailableError):
    """The operating system does not isolate parsers."""

    code = "parsers_not_isolated"


class SourceSilentError(UnavailableError):
    """The source does not answer."""

    code = "source_silent"


def _below(kind: type[ProblemError]) -> list[type[ProblemError]]:
    return [kind, *(found for below in kind.__subclasses__() for found in _below(below))]


BY_CODE = {
    kind.code: kind
    for base in STATUS_CLASSES
    for kind in _below(base)
    if "code" in vars(kind) and kind.__module__.startswith("analytiq.client.problem")
}
"""The classes that have a code of their own, by it."""
