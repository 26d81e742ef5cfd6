"""docs/how-to/use-the-python-client.md, run as it stands there, against a running platform."""

import re
import subprocess
import sys
from pathlib import Path

from analytiq.settings import child_environment
from tests.e2e.running_platform import Running, make_organization

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "use-the-python-client.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_program_of_the_page_does_what_it_says(running: Running, tmp_path: Path) -> None:
    organization_id, token = make_organization(running, "Page of the client")
    program = tmp_path / "program.py"
    program.write_text("\n".join(BLOCK.findall(PAGE.read_text())))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "office.txt").write_text("The office closes at six.")
    settings = {
        "ANALYTIQ_URL": running.url,
        "ANALYTIQ_ORGANIZATION_ID": organization_id,
        "ANALYTIQ_TOKEN": token,
        "FOLDER": str(folder),
        "PYTHONPATH": str(ROOT),
    }
    finished = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=child_environment(settings),
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    told = finished.stdout.splitlines()
    assert told[0] == "4 documents, 99 bytes"
    assert told[1].startswith("changed: ")
    assert told[2:4] == [
        "warranty.txt, page 1: The warranty lasts two years.",
        "shipping/delivery.txt, page 1: Delivery takes five days.",
    ]
    assert told[4:8] == ["office.txt {}", "shipping/delivery.txt {}", "terms.txt {'year': 2026}", "warranty.txt {}"]
    assert told[-1] == "404 not_found"
