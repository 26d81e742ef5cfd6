"""Every package of the UI is pinned by its content."""

import json
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[2] / "ui" / "package-lock.json"


def test_every_package_that_is_fetched_has_its_hash() -> None:
    packages: dict[str, dict[str, Any]] = json.loads(LOCK.read_text())["packages"]
    fetched = {name: entry for name, entry in packages.items() if name and not entry.get("link")}
    without = [
        name
        for name, entry in fetched.items()
        if not entry.get("inBundle") and not str(entry.get("integrity", "")).startswith("sha512-")
    ]
    assert without == []
    assert len(fetched) > 100
