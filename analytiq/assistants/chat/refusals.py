"""Why a thread is not asked, or an answer not continued."""

from analytiq.errors import ConflictError, NotFoundError


def unknown_thread(thread_id: str) -> NotFoundError:
    """No thread of the caller's has this id."""
    return NotFoundError(f"no thread has the id {thread_id!r}")


def answer_running() -> ConflictError:
    """A thread gives one answer at a time."""
    return ConflictError(
        "the thread's last answer is still being given: read it to its end, or stop it", code="answer_running"
    )


def cannot_continue() -> ConflictError:
    """Only a thread's last answer goes on, and only where it did not come to its end."""
    return ConflictError(
        "The answer cannot be continued: only the last one of a thread can, where it was cut, stopped or broke off"
        " after it had begun. Ask again instead.",
        code="cannot_continue",
    )
