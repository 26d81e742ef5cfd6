"""Wire shapes of the reconciler's runs."""

from pydantic import ConfigDict, Field

from analytiq.models.reconciliation import Depth, DriftKind, RunState
from api.schemas.documents import FailureResponse, ProgressResponse
from api.schemas.wire import Moment, RequestBody, ResponseBody


class ReconcileStart(RequestBody):
    """How thoroughly to look, and whether to mend."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"depth": "full", "dry_run": True}, {"depth": "quick"}]}
    )

    depth: Depth = Field(
        default=Depth.QUICK,
        description="quick: rows, and vectors where their numbers do not tally; full: every vector, file and text",
    )
    dry_run: bool = Field(default=False, description="Only tell what would be mended")
    rebuild_cache: bool = Field(
        default=False, description="Also put embeddings that knowledge bases hold back into the cache; calls nobody"
    )


class DriftResponse(ResponseBody):
    """Something that was not as it should be, with the names that it had then."""

    kind: DriftKind
    kb_id: str | None
    kb_name: str | None
    document_id: str | None
    document_name: str | None
    detail: str | None


class ReconcileRunResponse(ResponseBody):
    """A run: `counts` says how much of each kind was found, `repairs` for how much a repair was asked or made.

    Jobs do most repairs; a run is done when it has asked for them.
    """

    run_id: str = Field(validation_alias="id")
    kb_id: str | None = Field(description="None: all of the organization's")
    depth: Depth
    dry_run: bool = Field(validation_alias="is_dry")
    rebuild_cache: bool = Field(validation_alias="rebuilds_cache")
    state: RunState
    progress: ProgressResponse | None
    counts: dict[str, int]
    repairs: int
    is_cut: bool = Field(description="A bound was reached; the next run goes on")
    knowledge_bases: int = Field(description="How many were looked at")
    checked: int = Field(description="Index entries that were looked at")
    error: FailureResponse | None
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    expires_at: Moment


class ReconcileReport(ReconcileRunResponse):
    """A run, and what it found: up to 20 of each kind by name; `more` says how many of a kind are not named."""

    drift: list[DriftResponse] = Field(validation_alias="examples")
    more: dict[str, int]


class ReconcileRunList(ResponseBody):
    """A page of runs."""

    runs: list[ReconcileRunResponse]
    total_count: int
    skip: int
