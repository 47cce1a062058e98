"""Our merge of ModelServices beside mergo, llm-d's library: the same, but for the differences listed here.

The program is in `components/mergo`; it says which functions of llm-d, with which options, it follows.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from importer.leaves import plain, tagged
from importer.merge import LLM_D, merged
from intent import Object
from tests.importer.test_llmd import MERGES

DIFFERENCES: Final[dict[str, str]] = {
    "M16: a value in place of a source": "mergo keeps both, which the API server denies",
    "M16: a source in place of a value": "the same",
    "M18: a volume of the same name": "mergo adds it again, which the API server denies",
    "a mount of the same path": "the same",
    "a port of the same number and protocol": "the same",
}
"""The cases of `tests.importer.test_llmd` in which ours differs, with the reason."""
Pair = tuple[str, Object, Object]
"""The kind of both objects, the one of the BaseConfig, and the one over it."""


def by_mergo(program: Path, pairs: Sequence[Pair]) -> list[Object]:
    """Return what llm-d makes of each pair; both have to be objects of their kind."""
    lines = "".join(json.dumps(dict(zip(("kind", "base", "over"), one, strict=True))) + "\n" for one in pairs)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line)["merged"] for line in done.stdout.splitlines()]


def ours(program: Path, pairs: Sequence[Pair]) -> list[Object]:
    """Return what an import makes of each pair, with the values as Go writes them."""
    made: list[Pair] = [
        (kind, plain(merged(LLM_D, tagged(0, base), tagged(1, over))), {}) for kind, base, over in pairs
    ]
    return by_mergo(program, made)


OF_PODS: Final = ("containers", "volumes", "topologySpreadConstraints")


def deployment(fragment: Object) -> Object:
    """Return a Deployment with fields of a container or of a pod."""
    is_pod = any(field in fragment for field in OF_PODS)
    pod = fragment if is_pod else {"containers": [{"name": "vllm", **fragment}]}
    return {"spec": {"template": {"spec": pod}}}


def test_cases_agree_but_for_the_listed_ones(mergo: Path) -> None:
    pairs = [("Deployment", deployment(base), deployment(over)) for base, over, _ in MERGES.values()]

    rows = zip(MERGES, by_mergo(mergo, pairs), ours(mergo, pairs), strict=True)

    assert {name for name, theirs, own in rows if own != theirs} == DIFFERENCES.keys()
