"""Each code with which the API refuses a call has an error class of the client."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from analytiq import errors
from analytiq.client.errors import Problem, ProblemError
from analytiq.client.problem_codes import BY_CODE
from analytiq.client.problems import STATUS_CLASSES, ConflictError, NotFoundError, class_of

ROOT = Path(__file__).parents[2]
OTHERS = (
    "analytiq/cli/",
    "analytiq/client/",
    "analytiq/standalone/",
    "analytiq/mcp_server/",
    "analytiq/operations/backup/",
)
"""Edges and commands, which answer no call."""

NEVER_ANSWERED = {
    # of commands, and of an installation that does not start
    "archive_damaged", "archive_foreign", "archive_too_new", "archive_truncated", "database_not_initiated",
    "database_standalone", "database_too_old", "embedded_server_failed", "id_taken", "metrics_port_taken",
    "mongo_uri_missing", "restore_running", "restore_unfinished", "secret_key_invalid",
    # of jobs and runs, which tell them in their own answers
    "item_gone", "item_refused", "lease_lost", "mailbox_unreadable", "malformed_job",
}  # fmt: skip


def raised_codes() -> Iterator[str]:
    """Yield the codes that errors are raised with, or have by their class."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    for root in ("analytiq", "api"):
        for path in sorted((ROOT / root).rglob("*.py")):
            if str(path.relative_to(ROOT)).startswith(OTHERS):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                    yield from (
                        keyword.value.value
                        for keyword in node.keywords
                        if keyword.arg == "code"
                        and isinstance(keyword.value, ast.Constant)
                        and isinstance(keyword.value.value, str)
                    )
    yield from (kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code"))


def test_each_code_has_its_class() -> None:
    assert (
        sorted({code for code in raised_codes() if re.fullmatch(r"\w+", code)} - BY_CODE.keys() - NEVER_ANSWERED) == []
    )


def test_classes_are_below_those_of_statuses_and_describe_themselves() -> None:
    assert [kind for kind in BY_CODE.values() if not issubclass(kind, STATUS_CLASSES)] == []
    assert [kind for kind in BY_CODE.values() if not (kind.__doc__ or "").endswith(".")] == []


def test_code_counts_before_the_status_and_the_status_before_none() -> None:
    assert class_of(404, "not_found") is NotFoundError
    assert class_of(409, "a_code_of_a_newer_server") is ConflictError
    assert class_of(418, "teapot") is ProblemError
    error = class_of(409, "tag_in_use")(409, Problem(code="tag_in_use", detail="In use."))
    assert isinstance(error, ConflictError)
    assert (error.status, error.code, error.detail) == (409, "tag_in_use", "In use.")
