"""Whatever the schema allows, and what it does not, is answered and never with an error of the server."""

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.running_platform import Running, make_organization

HOOKS = Path(__file__).with_name("fuzzing_hooks.py")
SECONDS = 60
"""The longer it looks the more it finds: `schemathesis run` by hand went through 27,000 calls in six minutes."""
ENDS_IT_ALL = ("delete_organization",)
HAS_NO_END = ("watch_organization",)
"""Its answer goes on for as long as somebody reads: `test_http_events.py`."""


def test_no_call_makes_the_server_fail(running: Running, tmp_path: Path) -> None:
    _, token = make_organization(running, "Fuzzed")
    schemathesis = Path(sys.executable).with_name("schemathesis")
    left_out = [option for operation in ENDS_IT_ALL + HAS_NO_END for option in ("--exclude-operation-id", operation)]
    found = subprocess.run(
        [
            str(schemathesis),
            "run",
            f"{running.url}/openapi.json",
            "--header",
            f"Authorization: Bearer {token}",
            "--checks",
            "not_a_server_error",
            "--phases",
            "examples,coverage,fuzzing",
            "--max-examples",
            "3",
            "--suppress-health-check",
            "all",
            "--warnings",
            "off",
            "--max-time",
            str(SECONDS),
            *left_out,
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert "generated" in found.stdout, found.stdout + found.stderr
    assert found.returncode == 0, found.stdout[-6000:]
    assert "api.internal_error" not in running.log
