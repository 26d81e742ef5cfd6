"""The table of what becomes of a failed job."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq import errors
from analytiq.errors import AnalytiqError, LeaseLostError, RateLimitedError, TransientError
from analytiq.ingestion.indexing.commit import TruthChangedError
from analytiq.jobs.queue import retry
from analytiq.jobs.queue.retry import Abandon, Bury, Retry

attempts = st.integers(1, 60)


def every_error_class() -> list[type[AnalytiqError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return [value for value in found if issubclass(value, AnalytiqError)]


FINAL = (
    errors.AnalytiqError,
    errors.InvalidInputError,
    errors.NotFoundError,
    errors.AccessDeniedError,
    errors.PermanentError,
    errors.UnsupportedFormatError,
    errors.ParserUnavailableError,
    errors.EncryptedFileError,
    errors.WrongPasswordError,
    errors.CorruptFileError,
    errors.EmptyDocumentError,
    errors.LimitExceededError,
    errors.MemoryLimitError,
    errors.DimensionMismatchError,
    errors.ProviderRefusedError,
    errors.CallRefusedError,
)
WORTH_ANOTHER_TRY = (
    errors.ConflictError, errors.StaleVersionError, errors.TransientError, errors.StoreLoadingError, TruthChangedError,
    errors.TransactionTooLargeError,
)  # fmt: skip
NOT_ITS_FAULT = (
    errors.RateLimitedError,
    errors.PostponedError,
    errors.QuotaExceededError,
    errors.ProviderUnavailableError,
)


def test_table_knows_every_class_of_error() -> None:
    assert set(every_error_class()) <= {*FINAL, *WORTH_ANOTHER_TRY, *NOT_ITS_FAULT, LeaseLostError}


@pytest.mark.parametrize("error", FINAL)
def test_what_gives_the_same_answer_each_time_is_given_up_at_once(error: type[AnalytiqError]) -> None:
    assert retry.plan(error("no"), attempt=1, max_attempts=8) == Bury()


@pytest.mark.parametrize("error", WORTH_ANOTHER_TRY)
def test_what_may_pass_is_tried_until_the_attempts_are_used_up(error: type[AnalytiqError]) -> None:
    for attempt in range(1, 8):
        outcome = retry.plan(error("no"), attempt=attempt, max_attempts=8)
        assert isinstance(outcome, Retry)
        assert outcome.is_counted
    assert retry.plan(error("no"), attempt=8, max_attempts=8) == Bury()


@pytest.mark.parametrize("error", NOT_ITS_FAULT)
@given(attempt=attempts)
def test_being_told_to_wait_never_ends_a_job(error: type[AnalytiqError], attempt: int) -> None:
    outcome = retry.plan(error("no"), attempt=attempt, max_attempts=1)
    assert isinstance(outcome, Retry)
    assert not outcome.is_counted


def test_lost_lease_writes_nothing() -> None:
    assert retry.plan(LeaseLostError("gone"), attempt=99, max_attempts=8) == Abandon()


@pytest.mark.parametrize(("attempt", "max_attempts"), [(5, 8), (3, 3)])
def test_unforeseen_error_is_given_up_sooner_than_a_passing_one(attempt: int, max_attempts: int) -> None:
    assert isinstance(retry.plan(KeyError(), attempt=attempt - 1, max_attempts=max_attempts), Retry)
    assert retry.plan(KeyError(), attempt=attempt, max_attempts=max_attempts) == Bury()


@given(attempt=attempts, retry_after=st.floats(0, 300))
def test_provider_is_never_asked_before_the_time_that_it_named(attempt: int, retry_after: float) -> None:
    for error in (TransientError("no", retry_after=retry_after), RateLimitedError("no", retry_after=retry_after)):
        outcome = retry.plan(error, attempt=attempt, max_attempts=100)
        assert isinstance(outcome, Retry)
        assert outcome.delay_seconds >= retry_after


@given(attempt=attempts)
def test_pause_doubles_up_to_five_minutes(attempt: int) -> None:
    outcome = retry.plan(TransientError("no"), attempt=attempt, max_attempts=100)
    assert isinstance(outcome, Retry)
    ceiling = min(300.0, math.ldexp(1.0, attempt - 1))
    assert ceiling / 2 <= outcome.delay_seconds <= ceiling


def test_limit_that_names_no_time_is_not_probed_every_second() -> None:
    outcome = retry.plan(RateLimitedError("no"), attempt=1, max_attempts=8)
    assert isinstance(outcome, Retry)
    assert outcome.delay_seconds >= 5


def test_failure_tells_our_own_errors_in_full_and_others_by_class() -> None:
    ours = retry.failure_of(errors.ProviderRefusedError("the key is wrong"))
    assert (ours.code, ours.detail) == ("provider_refused", "the key is wrong")
    other = retry.failure_of(ValueError("sk-secret"))
    assert other.code == "internal_error"
    assert "ValueError" in other.detail
    assert "sk-secret" not in other.detail


@pytest.mark.parametrize("error", [RateLimitedError, TransientError])
@pytest.mark.parametrize("retry_after", [1e12, 1e300, math.inf])
def test_job_of_a_provider_that_asks_for_a_long_wait_comes_back_to_probe_it(
    error: type[TransientError], retry_after: float
) -> None:
    outcome = retry.plan(error("no", retry_after=retry_after), attempt=1, max_attempts=8)
    assert isinstance(outcome, Retry)
    assert outcome.delay_seconds == retry.LONGEST_NAMED_WAIT_SECONDS


@given(attempt=attempts, waited=st.floats(0, 30 * 86_400))
def test_job_that_waits_for_its_provider_is_tried_again_however_long_the_outage(attempt: int, waited: float) -> None:
    for error in (errors.ProviderUnavailableError("no"), RateLimitedError("no")):
        outcome = retry.plan(error, attempt=attempt, max_attempts=1, waited_seconds=waited)
        assert isinstance(outcome, Retry)
        assert not outcome.is_counted
        assert outcome.delay_seconds <= retry.LONGEST_OUTAGE_DELAY_SECONDS
        assert outcome.delay_seconds >= min(retry.LONGEST_OUTAGE_DELAY_SECONDS, waited * retry.OUTAGE_SHARE) / 2


def test_job_that_postpones_itself_waits_just_as_long_and_burns_no_attempt() -> None:
    for seconds in (0.5, 7200.0):
        error = errors.PostponedError("later", retry_after=seconds)
        assert retry.plan(error, attempt=8, max_attempts=8) == Retry(seconds, is_counted=False)
