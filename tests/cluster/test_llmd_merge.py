"""Our merge of ModelServices beside mergo, llm-d's library: the same, but for the differences listed here.

The program is in `components/mergo`; it says which functions of llm-d, with which options, it follows.
"""

import json
import random
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest

from importer.leaves import plain, tagged
from importer.llmd.merge import merged
from importer.llmd.pods import pod_template
from importer.llmd.variables import artifact
from intent import Object
from tests.importer.test_llmd import MERGES
from tests.tiers import count

SEED: Final = 20261123
RANDOM: Final = count("LLMD_MERGES")
DIFFERENCES: Final[dict[str, str]] = {
    "M16: a value in place of a source": "mergo keeps both, which the API server denies",
    "M16: a source in place of a value": "the same",
    "M16: a source in place of another": "the same",
    "M17: no replicas": "mergo takes 0 for nothing written, and keeps the replicas of the base",
    "M18: a volume of the same name": "mergo adds it again, which the API server denies",
    "a mount of the same path": "the same",
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
        (kind, plain(merged(tagged(0, base), tagged(1, over))), {}) for kind, base, over in pairs
    ]
    return by_mergo(program, made)


# --- the cases ----------------------------------------------------------------------------------------

OF_PODS: Final = ("containers", "volumes")


def deployment(fragment: Object) -> Object:
    """Return a Deployment with fields of a container, of a pod, or with replicas."""
    if "replicas" in fragment:
        return {"spec": fragment}
    is_pod = any(field in fragment for field in OF_PODS)
    pod = fragment if is_pod else {"containers": [{"name": "vllm", **fragment}]}
    return {"spec": {"template": {"spec": pod}}}


def test_cases_agree_but_for_the_listed_ones(mergo: Path) -> None:
    pairs = [("Deployment", deployment(base), deployment(over)) for base, over, _ in MERGES.values()]

    rows = zip(MERGES, by_mergo(mergo, pairs), ours(mergo, pairs), strict=True)

    assert {name for name, theirs, own in rows if own != theirs} == DIFFERENCES.keys()


# --- random pairs -------------------------------------------------------------------------------------

ARTIFACTS: Final = ("hf://meta/llama", "pvc://claim/a/b")
SOURCES: Final = {
    "S": {"secretKeyRef": {"name": "s", "key": "a"}},
    "T": {"fieldRef": {"fieldPath": "spec.nodeName"}},
}
"""The sources of variables, which have the same in a base and over it."""


class Writer:
    """Random objects of a BaseConfig, and ModelServices over them, for which both merges mean the same."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)  # noqa: S311 - it chooses test data

    def some(self, fields: Object) -> Object:
        return {name: make() for name, make in fields.items() if self.source.random() < 0.5}

    def word(self) -> str:
        return self.source.choice(("", "a", "b", "c"))

    def number(self) -> int:
        return self.source.choice((0, 1, 8080))

    def words(self) -> list[str]:
        return [self.word() for _ in range(self.source.randint(0, 3))]

    def labels(self) -> Object:
        return {name: self.word() for name in self.source.sample(("a", "b", "llm-d.ai/model"), 2)}

    def named(self, names: Sequence[str], make: Callable[[], Object]) -> list[Object]:
        """Return items with names, of which some may be the same."""
        return [{"name": self.source.choice(names), **make()} for _ in range(self.source.randint(0, 3))]

    def containers(self, make: Callable[[], Object]) -> list[Object]:
        """Return containers of different names: the API server denies others."""
        return [{"name": name, **make()} for name in self.words_of(("vllm", "side", "third"))]

    def env(self) -> list[Object]:
        values = self.named("AB", lambda: self.some({"value": self.word}))
        return [*values, *({"name": one, "valueFrom": SOURCES[one]} for one in self.words_of(SOURCES))]

    def words_of(self, known: Iterable[str]) -> list[str]:
        return [one for one in known if self.source.random() < 0.5]

    def resources(self) -> Object:
        def quantities() -> Object:
            return {
                name: self.source.choice((0, "0", 1, "500m", "8Gi"))
                for name in self.words_of(["cpu", "memory"])
            }

        claims = {"claims": lambda: self.named("xy", dict)}
        return self.some({"limits": quantities, "requests": quantities, **claims})

    def asked(self) -> Object:
        """Return the fields of a container that a ModelService may have."""
        return self.some(
            {
                "image": self.word,
                "command": self.words,
                "args": self.words,
                "env": self.env,
                "envFrom": lambda: [{"prefix": self.word()}],
                "resources": self.resources,
            }
        )

    def container(self) -> Object:
        """Return the fields of a container of a base."""
        ports = {"ports": lambda: [{"containerPort": 8000}]}
        mounts = {"volumeMounts": lambda: [{"name": "own", "mountPath": "/own"}]}
        probe = {
            "readinessProbe": lambda: {"exec": {"command": self.words()}, "periodSeconds": self.number()}
        }
        rights = {"securityContext": lambda: {"capabilities": {"add": ["IPC_LOCK"]}}, "tty": lambda: True}
        return self.asked() | self.some(ports | mounts | probe | rights)

    def deployment(self) -> Object:
        pod = {
            "containers": lambda: self.containers(self.container),
            "initContainers": lambda: self.containers(self.container),
            "volumes": lambda: self.named(("own", "cache"), lambda: {"emptyDir": {}}),
            "tolerations": lambda: [{"key": self.word()}],
            "nodeSelector": self.labels,
            "hostIPC": lambda: True,
        }
        found = {"metadata": {"labels": self.labels()}, "spec": self.some(pod)}
        return {"spec": {"template": found}}

    def over(self) -> Object:
        """Return what a ModelService asks for."""
        volume = {"mountModelVolume": lambda: True}
        workload = {
            field: self.containers(lambda: self.asked() | self.some(volume))
            for field in self.words_of(("containers", "initContainers"))
        }
        uri = self.source.choice(ARTIFACTS)
        spec = {
            "routing": {"modelName": "Meta/Llama"},
            "modelArtifacts": {
                "uri": uri,
                **self.some({"size": lambda: "5Gi", "authSecretName": lambda: "S"}),
            },
            "decode": workload,
        }
        model, tree = artifact(uri), tagged(1, spec)
        assert model
        return {
            "spec": {"template": plain(pod_template("decode", tree["decode"], tree, model, lambda one: one))}
        }

    def service(self) -> Object:
        return self.some(
            {
                "metadata": lambda: self.some({"name": self.word, "labels": self.labels}),
                "spec": lambda: self.some({"ports": lambda: [{"port": 1}], "selector": self.labels}),
            }
        )

    def parents(self) -> Object:
        reference = {"namespace": self.word, "sectionName": self.word, "port": self.number}
        return {"parentRefs": self.named(("web", "other"), lambda: self.some(reference))}

    def route(self) -> Object:
        rules = {
            "rules": lambda: [{"matches": [{"path": {"value": "/v1"}}]}],
            "hostnames": lambda: ["a.example"],
        }
        return {"spec": self.some(rules) | self.parents()}

    def pair(self) -> Pair:
        kind = self.source.choice(("Deployment",) * 4 + ("Service", "HTTPRoute"))
        if kind == "Deployment":
            return kind, self.deployment(), self.over()
        if kind == "HTTPRoute":
            return kind, self.route(), {"spec": self.parents()}
        return kind, self.service(), {"metadata": {"name": "n"}, "spec": {"selector": self.labels()}}


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    writer = Writer(SEED)
    return [writer.pair() for _ in range(RANDOM)]


def test_random_pairs_agree(mergo: Path, pairs: list[Pair]) -> None:
    for pair, theirs, own in zip(pairs, by_mergo(mergo, pairs), ours(mergo, pairs), strict=True):
        assert own == theirs, pair


def test_most_random_pairs_merge_something(pairs: list[Pair]) -> None:
    found = [(base, over, plain(merged(tagged(0, base), tagged(1, over)))) for _, base, over in pairs]

    assert sum(result not in (base, over) for base, over, result in found) > len(pairs) / 2
