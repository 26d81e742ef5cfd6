"""The manifests below deploy/kubernetes are valid, and run the processes as docs/how-to/scale-out.md says."""

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from analytiq.settings import Settings, read_settings, secret_variables
from analytiq.telemetry import metrics

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "deploy" / "kubernetes"
SCHEMAS = [
    json.loads((ROOT / "tests" / "data" / "kubernetes" / name).read_text())
    for name in ("schemas.json", "other-schemas.json")
]
GUIDE = (ROOT / "docs" / "how-to" / "scale-out.md").read_text()
Manifest = dict[str, Any]


def read(path: Path) -> list[Any]:
    return [yaml.safe_load(text) for text in path.read_text().split("\n---\n")]


FILES = {path.relative_to(DIRECTORY).as_posix(): read(path) for path in sorted(DIRECTORY.rglob("*.yaml"))}
KUSTOMIZATIONS = [name for name in FILES if name.endswith("kustomization.yaml")]
MANIFESTS: list[Manifest] = [manifest for found in FILES.values() for manifest in found if isinstance(manifest, dict)]
"""Every object, also those of which an overlay has a part only; operations of patches are lists."""
WHOLE = [manifest for name, found in FILES.items() if not name.startswith("overlays") for manifest in found]


def of_kind(kind: str) -> dict[str, Manifest]:
    return {manifest["metadata"]["name"]: manifest for manifest in WHOLE if manifest["kind"] == kind}


DEPLOYMENTS = of_kind("Deployment")
NAMES = sorted(DEPLOYMENTS)


def pod_of(name: str) -> Manifest:
    return DEPLOYMENTS[name]["spec"]["template"]["spec"]


def container_of(name: str) -> Manifest:
    (container,) = pod_of(name)["containers"]
    return container


def flaws(manifest: Manifest) -> Iterator[str]:
    """The places of a manifest that its kind's schema refuses."""
    kind = f"{manifest['apiVersion']} {manifest['kind']}"
    schemas = [schemas for schemas in SCHEMAS if kind in schemas["kinds"]]
    if not schemas:
        yield f"there is no schema of {kind}: add it to scripts/kubernetes_schemas.py"
        return
    rule = {"$ref": f"#/$defs/{schemas[0]['kinds'][kind]}", "$defs": schemas[0]["$defs"]}
    for error in Draft202012Validator(rule).iter_errors(manifest):
        yield f"{kind} {error.json_path}: {error.message[:300]}"


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: f"{manifest['kind']} {_name(manifest)}")
def test_every_manifest_is_what_its_schema_wants(manifest: Manifest) -> None:
    assert list(flaws(manifest)) == []


def _name(manifest: Manifest) -> str:
    return str(manifest.get("metadata", {}).get("name", ""))


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "template", "spec", "containers", 0, "readinesProbe"), {}),
        ("Deployment", ("spec", "template", "spec", "terminationGracePeriodSeconds"), "45"),
        ("HorizontalPodAutoscaler", ("spec", "metrics", 0, "resource", "target", "kind"), "Utilization"),
        ("NetworkPolicy", ("spec", "ingres"), []),
        ("PodDisruptionBudget", ("spec", "selector"), "api"),
        ("ScaledObject", ("spec", "triggers", 0, "metadata", "targetValue"), 8),
        ("Kustomization", ("resource",), ["api.yaml"]),
    ],
)
def test_misspelt_field_and_wrong_type_are_told(kind: str, path: tuple[str | int, ...], value: Any) -> None:
    changed: Any = copy.deepcopy(next(manifest for manifest in MANIFESTS if manifest["kind"] == kind))
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert list(flaws(changed))


def test_every_file_is_part_of_its_kustomization_and_every_part_exists() -> None:
    for name in KUSTOMIZATIONS:
        directory = (DIRECTORY / name).parent
        (kustomization,) = FILES[name]
        patches = [patch["path"] for patch in kustomization.get("patches", ()) if "path" in patch]
        parts = {*kustomization["resources"], *kustomization.get("components", ()), *patches}
        assert [part for part in parts if not (directory / part).exists()] == [], name
        assert {file.name for file in directory.glob("*.yaml")} - {"kustomization.yaml"} <= parts, name


@pytest.mark.parametrize("name", NAMES)
def test_container_has_no_right_that_it_does_not_need(name: str) -> None:
    pod, container = pod_of(name), container_of(name)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001 == pod["securityContext"]["fsGroup"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    written = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert written == {"/tmp", "/var/lib/analytiq"}  # noqa: S108  # the container's own


def test_user_and_data_directory_are_those_of_the_image() -> None:
    image = (ROOT / "Dockerfile").read_text()
    assert "--uid 10001" in image
    assert "ANALYTIQ_DATA_DIR=/var/lib/analytiq" in image


@pytest.mark.parametrize("name", NAMES)
def test_secrets_are_named_and_never_there(name: str) -> None:
    assert "Secret" not in {manifest["kind"] for manifest in MANIFESTS}
    variables = {item["name"]: item["value"] for item in container_of(name)["env"]}
    assert variables.keys() & secret_variables() == set()
    files = {variable: path for variable, path in variables.items() if variable.endswith("_FILE")}
    assert {"MONGODB_URI_FILE", "ANALYTIQ_SECRET_KEY_FILE"} <= files.keys()
    for variable, path in files.items():
        assert variable.removesuffix("_FILE") in secret_variables()
        assert f"--from-file={Path(path).name}" in GUIDE, "the guide creates the secret with this key"
    for settings in of_kind("ConfigMap").values():
        assert settings["data"].keys() & secret_variables() == set()


@pytest.mark.parametrize("name", NAMES)
def test_processes_understand_their_settings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [variable for variable in os.environ if variable.startswith("ANALYTIQ_")]:
        monkeypatch.delenv(variable)
    settings = settings_of(name, tmp_path, monkeypatch)
    assert settings.mongo.uri is not None
    # The links of a service `analytiq-api`: ANALYTIQ_API_PORT is no setting, and would end the process.
    assert pod_of(name)["enableServiceLinks"] is False
    lifecycle = container_of(name).get("lifecycle", {})
    waits = int(lifecycle["preStop"]["exec"]["command"][1]) if lifecycle else 0
    assert pod_of(name)["terminationGracePeriodSeconds"] >= waits + settings.worker.drain_seconds + 10
    ports = {port["containerPort"] for port in container_of(name)["ports"]}
    assert ports == {settings.api.port} if name == "analytiq-api" else {settings.telemetry.metrics_port}


def settings_of(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    variables = {item["name"]: item["value"] for item in container_of(name)["env"]}
    for settings in (manifest for manifest in MANIFESTS if manifest["kind"] == "ConfigMap"):
        variables |= settings["data"]
    for variable, value in variables.items():
        if variable.endswith("_FILE"):
            file = directory / Path(value).name
            file.write_text("a secret")
            variables[variable] = str(file)
            monkeypatch.setenv(variable.removesuffix("_FILE"), "")  # set by the reading of the file; undone afterwards
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    return read_settings()


@pytest.mark.parametrize("name", NAMES)
def test_every_process_has_probes_bounds_and_a_disruption_budget(name: str) -> None:
    container = container_of(name)
    assert {"startupProbe", "livenessProbe"} <= container.keys()
    assert ("readinessProbe" in container) == (name == "analytiq-api")
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert "memory" in container["resources"]["limits"]
    names = {port["name"] for port in container["ports"]}
    assert {probe["httpGet"]["port"] for key, probe in container.items() if key.endswith("Probe")} <= names
    labels = DEPLOYMENTS[name]["spec"]["template"]["metadata"]["labels"]
    assert DEPLOYMENTS[name]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert of_kind("PodDisruptionBudget")[name]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (default,) = of_kind("NetworkPolicy")["analytiq-default"]["spec"]["podSelector"]["matchExpressions"]
    assert labels[default["key"]] in default["values"]


def test_autoscalers_name_deployments_and_a_metric_that_the_api_gives() -> None:
    (autoscaler,) = of_kind("HorizontalPodAutoscaler").values()
    scaled = DEPLOYMENTS[autoscaler["spec"]["scaleTargetRef"]["name"]]
    assert "replicas" not in scaled["spec"], "each `kubectl apply` would set the pods back"
    (by_queue,) = of_kind("ScaledObject").values()
    assert by_queue["spec"]["scaleTargetRef"]["name"] in DEPLOYMENTS
    (trigger,) = by_queue["spec"]["triggers"]
    exposed = set(re.findall(r"^# TYPE (\S+) gauge", metrics.exposition(None).decode(), re.MULTILINE))
    assert trigger["metadata"]["valueLocation"] in exposed
    (service,) = of_kind("Service").values()
    address = f"http://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}/metrics"
    assert trigger["metadata"]["url"] == address
    assert trigger["authenticationRef"]["name"] in of_kind("TriggerAuthentication")
