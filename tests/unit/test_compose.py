"""The compose file keeps what the guide to production says of it."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from analytiq.settings import secret_variables

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
LASTING = sorted(name for name, service in SERVICES.items() if service.get("restart") != "no")


def secrets_of(service: dict[str, Any]) -> set[str]:
    return {secret if isinstance(secret, str) else secret["source"] for secret in service.get("secrets", [])}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_log_of_every_container_is_bounded(name: str) -> None:
    options = SERVICES[name]["logging"]["options"]
    assert options["max-size"].endswith("m")
    assert int(options["max-file"]) >= 2


@pytest.mark.parametrize("name", LASTING)
def test_every_lasting_container_has_a_limit_of_memory_that_the_guide_names(name: str) -> None:
    limit = re.fullmatch(r"\$\{(\w+):-(\w+)\}", SERVICES[name]["mem_limit"])
    assert limit is not None
    variable, default = limit.groups()
    assert f"`{variable}`" in GUIDE
    assert f"`{default}`" in GUIDE


def test_no_container_has_a_secret_in_its_environment() -> None:
    for name, service in SERVICES.items():
        environment: dict[str, str] = service.get("environment") or {}
        # Keys of providers are optional, and empty unless somebody sets them.
        given = {
            variable
            for variable in environment
            if variable in secret_variables() and ":-}" not in environment[variable]
        }
        assert given == set(), name
        assert not [variable for variable in environment if "PASSWORD" in variable], name


def test_every_file_of_a_secret_is_handed_to_the_container_that_reads_it() -> None:
    for name, service in SERVICES.items():
        text = str(service.get("environment", "")) + str(service.get("command", ""))
        assert set(re.findall(r"/run/secrets/(\w+)", text)) <= secrets_of(service), name
        for variable in service.get("environment") or {}:
            if variable.endswith("_FILE"):
                assert variable.removesuffix("_FILE") in secret_variables()
    read = set(re.findall(r'read\("(\w+)"\)', TEXT))
    assert read == secrets_of(SERVICES["init"])


def test_guide_makes_every_secret() -> None:
    made = set(re.findall(r"^ *(\w+)=", GUIDE[GUIDE.index("cat > .env") : GUIDE.index("END\n   ```")], re.MULTILINE))
    assert {secret["environment"] for secret in COMPOSE["secrets"].values()} == made


def test_processes_have_no_capabilities_and_gain_none() -> None:
    for name in ("api", "workers", "reconciler"):
        assert SERVICES[name]["cap_drop"] == ["ALL"]
        assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
