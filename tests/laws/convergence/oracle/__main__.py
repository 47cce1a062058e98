"""Compare owners and server-side apply with structured-merge-diff itself, on the writes of random sequences.

python -m tests.laws.convergence.oracle [SEQUENCES]

It needs Go, and downloads the module of LWS for its definition, whose schema is translated for the library.
No test runs it: run it after a change of `fields.py` or `managed.py`, or for another release of LWS.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from intent import Object
from tests.laws.convergence import clients, managed, walk
from tests.laws.convergence.managed import without_managers
from tests.laws.convergence.schema import defaulted

HERE: Final = Path(__file__).parent
LWS: Final = "sigs.k8s.io/lws@v0.9.0"
DEFINITION: Final = "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"
SCALARS: Final = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}
TEXTS: Final[Object] = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA: Final[Object] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "labels": TEXTS,
        "annotations": TEXTS,
    },
}


def main(arguments: list[str]) -> int:
    """Compare the writes of so many sequences (250); return 1 if one differs."""
    writes = list(recorded(int(arguments[0]) if arguments else 250))
    with tempfile.TemporaryDirectory() as folder:
        schema, cases = Path(folder, "schema.yaml"), Path(folder, "cases.jsonl")
        schema.write_text(yaml.safe_dump({"types": [{"name": "lws", **translated(_definition())}]}))
        cases.write_text("".join(json.dumps(one) + "\n" for one in writes))
        return subprocess.run(("go", "run", ".", schema, cases), cwd=HERE, check=False).returncode


def _definition() -> Object:
    done = subprocess.run(
        ("go", "mod", "download", "-json", LWS), cwd=HERE, check=True, capture_output=True, text=True
    )
    whole = yaml.safe_load(Path(json.loads(done.stdout)["Dir"], DEFINITION).read_text())
    root: Object = whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return {**root, "properties": {**root["properties"], "metadata": METADATA}}


def translated(node: Object) -> Object:
    """Return a type of structured-merge-diff for a schema of OpenAPI."""
    kind = node.get("type")
    if node.get("x-kubernetes-int-or-string") or kind not in ("object", "array"):
        return {"scalar": SCALARS.get(str(kind), "untyped")}
    if kind == "array":
        merges = node.get("x-kubernetes-list-type") in ("map", "set")
        items: Object = {
            "elementType": translated(node["items"]),
            "elementRelationship": "associative" if merges else "atomic",
        }
        keys = node.get("x-kubernetes-list-map-keys")
        return {"list": items | ({"keys": keys} if keys else {})}
    fields: Object = {}
    if properties := node.get("properties"):
        fields["fields"] = [_field(name, below) for name, below in properties.items()]
    if isinstance(node.get("additionalProperties"), dict):
        fields["elementType"] = translated(node["additionalProperties"])
    if node.get("x-kubernetes-map-type") == "atomic":
        fields["elementRelationship"] = "atomic"
    return {"map": fields or {"elementType": {"scalar": "untyped"}, "elementRelationship": "separable"}}


def _field(name: str, schema: Object) -> Object:
    default = {"default": schema["default"]} if "default" in schema else {}
    return {"name": name, "type": translated(schema), **default}


def recorded(sequences: int) -> list[Object]:
    """Return the writes of random sequences: what was stored, what was sent, and the result."""
    writes: list[Object] = []

    def recording(function: Any, operation: str) -> Any:
        def wrapped(stored: Object | None, sent: Object, manager: str) -> Object:
            result: Object = function(stored, sent, manager)
            read = without_managers(sent)
            writes.append(
                {
                    "operation": operation,
                    "manager": manager,
                    "stored": without_managers(stored),
                    "owners": stored["metadata"].get("managedFields", []) if stored else [],
                    "input": read if operation == "Apply" else defaulted(read),
                    "result": without_managers(result),
                    "resultOwners": result["metadata"]["managedFields"],
                }
            )
            return result

        return wrapped

    managed.merged = recording(managed.merged, "Apply")
    managed.update = clients.update = recording(managed.update, "Update")  # type: ignore[attr-defined] # modules re-export it
    for number in range(sequences):
        walk.run(walk.draw(Random(number)), carry_on=True)  # noqa: S311 - examples, to be repeatable
    return writes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
