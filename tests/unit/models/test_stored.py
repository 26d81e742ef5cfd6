"""Common properties of all stored shapes."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from analytiq.models.tag import Tag

ROW = {
    "id": "1", "organization_id": "o", "name": "n", "color": "#000000", "description": "",
    "created_at": datetime(2025, 1, 1, tzinfo=UTC), "updated_at": datetime(2025, 1, 1, tzinfo=UTC),
}  # fmt: skip


def test_field_of_a_newer_release_is_ignored() -> None:
    assert Tag.model_validate({**ROW, "added_next_year": 1}) == Tag.model_validate(ROW)


def test_stored_shape_cannot_be_changed_in_place() -> None:
    tag = Tag.model_validate(ROW)
    with pytest.raises(ValidationError, match="frozen"):
        tag.name = "other"
