from datetime import UTC, datetime

import pytest

from analytiq.cli.reconcile import COLUMNS, row_of
from analytiq.client import ReconcileRun
from analytiq.models.reconciliation import Depth, ReconciliationRun, RunState
from api.schemas.reconcile import ReconcileRunResponse


@pytest.mark.parametrize(("is_asked", "depth", "by"), [(True, Depth.QUICK, "request"), (False, Depth.FULL, "schedule")])
def test_list_of_runs_tells_who_began_a_run_and_its_depth(is_asked: bool, depth: Depth, by: str) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    stored = ReconciliationRun(
        id="6b0d2eb52ff75a3bacf858d5",
        organization_id="6b0d2eb52ff75a3bacf858d6",
        kb_id=None,
        depth=depth,
        is_dry=False,
        is_asked=is_asked,
        state=RunState.DONE,
        created_at=now,
        expires_at=now,
    )
    answered = ReconcileRunResponse.model_validate(stored, from_attributes=True).model_dump_json()
    row = dict(zip(COLUMNS, row_of(ReconcileRun.model_validate_json(answered)), strict=True))
    assert (row["by"], row["depth"]) == (by, depth.value)
