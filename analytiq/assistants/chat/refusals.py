"""Refusals of threads: unknown, busy, or not to be continued."""

from analytiq.errors import ConflictError, NotFoundError


def unknown_thread(thread_id: str) -> NotFoundError:
    """Return the error for a thread that does not exist, or is not the caller's."""
    return NotFoundError(f"No thread has the id {thread_id!r}. List the threads to find the right one.")


def answer_running() -> ConflictError:
    """Return the error for a thread whose last answer is running."""
    return ConflictError(
        "The thread's last answer is still running. Read it to its end, or stop it.", code="answer_running"
    )


def cannot_continue() -> ConflictError:
    """Return the error for an answer that is not the thread's last, or did not end early."""
    return ConflictError(
        "The answer cannot be continued. Only the last answer of a thread can be, if it was cut,"
        " stopped or interrupted after it had begun. Ask again instead.",
        code="cannot_continue",
    )
