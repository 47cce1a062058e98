"""⊕ beside Kubernetes' own strategic merge: the same result, but for the differences listed here.

The order of items is one of them: strategic merge takes that of the patch, ⊕ keeps items of the base first.
"""

import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from intent import Object
from intent.merge import SETS, are_items, merged
from intent.tree import MERGE_KEYS, identity
from tests.intent.test_merge import CASES
from tests.tiers import count

SEED: Final = 20261123
RANDOM: Final = count("STRATEGIC_MERGES")
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

DIFFERENCES: Final[dict[str, str]] = {
    "null sets nothing": "strategic merge removes the field: `null` never reaches admission",
    "an empty list removes all items": "strategic merge merges nothing; here [] wins, as zeros do",
    "value replaces valueFrom": "strategic merge keeps both, which the API server denies",
    "one source of a variable replaces another": "the same",
    "a handler replaces another, and the times stay": "the same",
    "a hook replaces another": "the same",
    "a source of a volume replaces another": "the same; kubectl adds $retainKeys to its patches",
    "ports merge by port and protocol": "strategic merge knows only containerPort (kubernetes#39188)",
    "a profile is replaced": "strategic merge keeps localhostProfile, which the API server denies",
    "items without a name replace the list": "strategic merge has an error",
    "duplicates replace the list": "strategic merge merges the duplicates",
}
"""The cases of `tests.intent.test_merge` in which ⊕ differs, with the reason."""


def asked(program: Path, pairs: Sequence[tuple[Object, Object]]) -> list[Object]:
    """Return what strategic merge makes of each pair of a base and a patch, or its error."""
    lines = "".join(json.dumps({"base": base, "over": over}) + "\n" for base, over in pairs)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def unordered(value: Any, field: str = "") -> Any:
    """Return a value in which the order of items that merge does not matter."""
    if isinstance(value, dict):
        return {key: unordered(each, key) for key, each in value.items()}
    if field in MERGE_KEYS and isinstance(value, list) and are_items(field, value):
        return {identity(field, item): unordered(item) for item in value}
    return sorted(value) if field in SETS else value


def test_cases_agree_but_for_the_listed_ones(strategic_merge: Path) -> None:
    pairs = [(base, over) for base, over, _ in CASES.values()]

    answers = asked(strategic_merge, pairs)

    differing = {
        name
        for name, (_, _, expected), answer in zip(CASES, CASES.values(), answers, strict=True)
        if unordered(answer.get("merged")) != unordered(expected)
    }
    assert differing == DIFFERENCES.keys()


# --- random templates --------------------------------------------------------------------------------


def some(source: random.Random, **fields: Any) -> Object:
    """Return some of the fields, each made by its function."""
    return {key: make() for key, make in fields.items() if source.random() < 0.5}


def items(source: random.Random, key: str, names: Sequence[Any], **fields: Any) -> list[Object]:
    """Return a list, not empty, of items with different keys."""
    chosen = source.sample(names, source.randint(1, len(names)))
    return [{key: name, **some(source, **fields)} for name in chosen]


def template(source: random.Random) -> Object:
    """Return a pod template of fields for which ⊕ and strategic merge mean the same."""

    def word() -> str:
        return source.choice(("", "a", "b", "c"))

    def number() -> int:
        return source.choice((0, 1, 8080))

    def flag() -> bool:
        return source.random() < 0.5

    def words() -> list[str]:
        return [word() for _ in range(source.randint(0, 2))]

    def labels() -> Object:
        return {name: word() for name in source.sample(("a", "b", "c/d"), source.randint(0, 3))}

    def quantities() -> Object:
        return {name: str(number()) for name in source.sample(("cpu", "memory"), source.randint(0, 2))}

    def container() -> Object:
        return {
            "image": word,
            "command": words,
            "args": words,
            "tty": flag,
            "env": lambda: items(source, "name", "ABC", value=word),
            "envFrom": lambda: [{"prefix": word()}],
            "ports": lambda: items(source, "containerPort", (1, 2, 3), name=word, hostPort=number),
            "volumeMounts": lambda: items(source, "mountPath", ("/a", "/b"), name=word, readOnly=flag),
            "resources": lambda: some(source, limits=quantities, requests=quantities),
            "securityContext": lambda: some(source, runAsUser=number, privileged=flag),
            "readinessProbe": lambda: some(source, periodSeconds=number, failureThreshold=number),
        }

    def constraints() -> list[Object]:
        return items(source, "topologyKey", ("zone", "node"), maxSkew=number, whenUnsatisfiable=word)

    return some(
        source,
        metadata=lambda: some(source, labels=labels, annotations=labels, finalizers=lambda: ["a/b", "c/d"]),
        spec=lambda: some(
            source,
            containers=lambda: items(source, "name", ("vllm", "x", "y"), **container()),
            initContainers=lambda: items(source, "name", ("x", "y"), **container()),
            volumes=lambda: items(source, "name", ("a", "b")),
            imagePullSecrets=lambda: items(source, "name", ("a", "b")),
            hostAliases=lambda: items(source, "ip", ("1.1.1.1", "1.1.1.2"), hostnames=words),
            tolerations=lambda: [{"key": word()}],
            topologySpreadConstraints=constraints,
            nodeSelector=labels,
            affinity=lambda: some(source, nodeAffinity=lambda: {PREFERRED: [{"weight": number()}]}),
            securityContext=lambda: some(source, fsGroup=number, supplementalGroups=lambda: [number()]),
            hostIPC=flag,
            priority=number,
            nodeName=word,
        ),
    )


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Object, Object]]:
    """Pairs of templates that are not empty."""
    source = random.Random(SEED)  # noqa: S311 - it chooses test data
    made = ((template(source), template(source)) for _ in range(RANDOM))
    return [(base, over) for base, over in made if base and over]


def test_random_templates_agree(strategic_merge: Path, pairs: list[tuple[Object, Object]]) -> None:
    answers = asked(strategic_merge, pairs)

    for (base, over), answer in zip(pairs, answers, strict=True):
        assert unordered(merged(base, over)) == unordered(answer.get("merged")), (base, over, answer)


def test_most_random_templates_merge_something(pairs: list[tuple[Object, Object]]) -> None:
    results = [(base, over, merged(base, over)) for base, over in pairs]

    assert len(pairs) > RANDOM / 2
    assert sum(result not in (base, over) for base, over, result in results) > len(pairs) / 2


def test_items_of_the_base_come_first(strategic_merge: Path) -> None:
    base, over = ({"spec": {"hostAliases": [{"ip": ip} for ip in ips]}} for ips in ("ab", "ca"))

    (answer,) = asked(strategic_merge, [(base, over)])

    assert [one["ip"] for one in answer["merged"]["spec"]["hostAliases"]] == ["c", "a", "b"]
    assert [one["ip"] for one in merged(base, over)["spec"]["hostAliases"]] == ["a", "b", "c"]
