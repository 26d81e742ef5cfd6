"""Request and response bodies of consistency checks."""

from pydantic import ConfigDict, Field

from analytiq.models.reconciliation import Depth, DriftKind, RunState
from api.schemas.documents import FailureResponse, ProgressResponse
from api.schemas.wire import Moment, RequestBody, ResponseBody


class ReconcileStart(RequestBody):
    """The depth of a check, and whether to repair."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"depth": "full", "dry_run": True}, {"depth": "quick"}]}
    )

    depth: Depth = Field(
        default=Depth.QUICK,
        description="quick: rows, and vectors if their counts differ; full: every vector, file and text",
    )
    dry_run: bool = Field(default=False, description="Report without repairing")
    rebuild_cache: bool = Field(
        default=False, description="Also restore cached embeddings from knowledge bases, without calls to providers"
    )


class DriftResponse(ResponseBody):
    """A finding, with the names at that time."""

    kind: DriftKind
    kb_id: str | None
    kb_name: str | None
    document_id: str | None
    document_name: str | None
    detail: str | None


class ReconcileRunResponse(ResponseBody):
    """A check: `counts` are the findings by kind, `repairs` the findings with a requested or finished repair.

    Jobs do most repairs; a check is finished once it has requested them.
    """

    run_id: str = Field(validation_alias="id")
    kb_id: str | None = Field(description="null: all of the organization's knowledge bases")
    depth: Depth
    periodic: bool = Field(validation_alias="is_periodic", description="True: by schedule; false: on request")
    dry_run: bool = Field(validation_alias="is_dry")
    rebuild_cache: bool = Field(validation_alias="rebuilds_cache")
    state: RunState
    progress: ProgressResponse | None
    counts: dict[str, int]
    repairs: int
    is_cut: bool = Field(description="True if a limit was reached; the next check continues")
    knowledge_bases: int = Field(description="Number of checked knowledge bases")
    checked: int = Field(description="Number of checked index entries")
    error: FailureResponse | None
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    expires_at: Moment


class ReconcileReport(ReconcileRunResponse):
    """A check with up to 20 findings of each kind; `more` counts the others."""

    drift: list[DriftResponse] = Field(validation_alias="examples")
    more: dict[str, int]


class ReconcileRunList(ResponseBody):
    """A page of checks."""

    runs: list[ReconcileRunResponse]
    total_count: int
    skip: int
