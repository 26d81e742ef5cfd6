"""Every provider that LiteLLM knows is asked, with sockets recorded: an upgrade of LiteLLM opens no new way.

The environment and the home directory of the asking process are full of the operator's credentials.
"""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from analytiq.inference.providers.addresses import origin_of
from analytiq.inference.providers.allowed import ALLOWED_PROVIDERS, OwnAddress
from analytiq.settings import child_environment
from tests.integration.providers.walking import OWN_ADDRESS, PUBLIC, TENANT_KEY

MARKER = "credential-of-the-operator"
READ = re.compile(
    r"(?:getenv|environ\.get|environ|get_secret|get_secret_str)\s*[(\[]\s*[\"']([A-Za-z][A-Za-z0-9_]+)[\"']"
)
ADDRESSES = re.compile(r"(BASE|URL|HOST|ENDPOINT|URI)$", re.IGNORECASE)
CREDENTIALS = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CRED|PROJECT|ORG|ACCOUNT|TENANT|CLIENT_ID|USER(NAME)?$|HEADERS|PROFILE|ROLE", re.IGNORECASE
)
SWITCHES = re.compile(r"TIMEOUT|MAX|MIN|LIMIT|SIZE|TTL|ENABLE|DISABLE|COUNT|TOKENS|COST_MAP|^LITELLM_", re.IGNORECASE)
FEWEST_VARIABLES = 150

Recorded = dict[str, Any]


def sources() -> Iterator[Path]:
    for package in ("litellm", "openai"):
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        yield from Path(spec.origin).parent.rglob("*.py")


def variables() -> dict[str, str]:
    """A value for each variable that LiteLLM or OpenAI's client may take a credential or an address from."""
    names = {name for path in sources() for name in READ.findall(path.read_text(errors="replace"))}
    wanted = {name: f"{MARKER}-{name}" for name in names if CREDENTIALS.search(name) and not SWITCHES.search(name)}
    wanted |= {
        name: f"http://127.0.0.1:9/{MARKER}" for name in names if ADDRESSES.search(name) and not SWITCHES.search(name)
    }
    proxy = f"http://operator:{MARKER}@127.0.0.1:9"
    wanted |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), proxy)
    return {**wanted, "AWS_ACCESS_KEY_ID": MARKER, "AWS_SECRET_ACCESS_KEY": MARKER, "OPENAI_ORG_ID": MARKER}


def home_of_operator(directory: Path) -> Path:
    (directory / ".netrc").write_text(f"default login operator password {MARKER}\n")
    (directory / ".aws").mkdir()
    (directory / ".aws" / "credentials").write_text(
        f"[default]\naws_access_key_id = {MARKER}\naws_secret_access_key = {MARKER}\n"
    )
    google = directory / ".config" / "gcloud"
    google.mkdir(parents=True)
    (google / "application_default_credentials.json").write_text(
        json.dumps({"type": "authorized_user", "client_id": "c", "client_secret": MARKER, "refresh_token": MARKER})
    )
    return directory


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    home = home_of_operator(tmp_path_factory.mktemp("home"))
    marked = variables()
    assert len(marked) > FEWEST_VARIABLES
    walked = subprocess.run(
        [sys.executable, "-m", "tests.integration.providers.walking"],
        cwd=Path(__file__).parents[3],
        env=child_environment({**marked, "HOME": str(home), "NETRC": str(home / ".netrc")}),
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert walked.returncode == 0, walked.stderr[-2000:]
    return cast("Recorded", json.loads(walked.stdout.strip().splitlines()[-1]))


def test_all_of_litellms_providers_are_walked(recorded: Recorded) -> None:
    assert len(recorded["providers"]) > 150
    assert set(ALLOWED_PROVIDERS) <= set(recorded["providers"])
    # The calls below the product's first lines have arrived at the transport, which has refused them.
    below = {url for call, url in recorded["stopped"] if call.endswith("below")}
    assert len(below) > 50
    assert any("127.0.0.1" in url or "localhost" in url for url in below)


def test_only_allowed_providers_are_called_and_no_name_that_is_an_address(recorded: Recorded) -> None:
    assert recorded["taken"] == []


def test_no_connection_goes_to_this_machine_a_private_network_or_a_clouds_metadata(recorded: Recorded) -> None:
    assert {address for _, address in recorded["connected"]} == {f"('{PUBLIC}', 443)"}
    assert recorded["stray"] == []


def test_each_call_goes_to_its_provider_or_the_address_that_the_tenant_named(recorded: Recorded) -> None:
    reached: dict[str, set[str]] = {}
    for sent in recorded["sent"]:
        use, model, *own = sent["call"].split()
        reached.setdefault(f"{use} {' '.join([model, *own])}", set()).add(origin_of(sent["url"]))
    expected: dict[str, frozenset[str]] = {}
    for name, rule in ALLOWED_PROVIDERS.items():
        for use in rule.uses:
            if rule.own_address is not OwnAddress.REQUIRED:
                expected[f"{use.name} {name}/m"] = rule.origins
            if rule.own_address is not OwnAddress.REFUSED:
                expected[f"{use.name} {name}/m own"] = frozenset({origin_of(OWN_ADDRESS)})
    expected |= {f"{use} cohere_chat/m": ALLOWED_PROVIDERS["cohere"].origins for use in ("EMBEDDING", "CHAT")}
    assert set(reached) == set(expected)
    assert {call: origins for call, origins in reached.items() if not origins <= expected[call]} == {}


def test_no_credential_of_the_operators_is_in_a_request_and_the_tenants_is_in_each(recorded: Recorded) -> None:
    assert len(recorded["sent"]) > 50
    assert [sent["call"] for sent in recorded["sent"] if MARKER in sent["text"]] == []
    assert [sent["call"] for sent in recorded["sent"] if TENANT_KEY not in sent["text"]] == []
