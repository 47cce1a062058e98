"""The most expensive known requests: each is as large as the limits allow, or costs most for its size.

`tests/hostile/test_worst.py` bounds their cost, and `tests/hostile/alone/test_tenants.py` sends them while
another user works.
"""

import gc
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import orjson

from intent import Object, budget
from tests.builders.isvc import isvc
from tests.builders.lws import changed, container, lws, put, template
from tests.builders.reviews import review
from tests.hostile.tiny import FAR_OVER, MOST, tiny

HEAD: Final = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\n"
FLOOR: Final = 100
"""The limit for a review of at most 64 KB, as a multiple of `reference()`."""
RATIO: Final = 20
"""The limit for a larger one, as a multiple of `json.loads` of its body; at least the one above."""


def script(text: str, **fields: Any) -> Object:
    """Return an engine container that runs a script."""
    return container(command=["sh", "-c"], args=[text], **fields)


def pods(*containers: Object, **fields: Any) -> Object:
    """Return an object whose pods have these containers and fields."""
    return lws(worker=template(*containers, **fields))


def annotated(annotations: Object) -> Object:
    """Return an object with these annotations alone."""
    return changed(lws(), "metadata.annotations", annotations)


def engine(*args: str, **fields: Any) -> Object:
    """Return an object whose engine has these arguments."""
    return pods(container(args=["m", *args], **fields))


def shell(unit: str, characters: int = budget.CHARACTERS.most, breaks: int = budget.BREAKS.most) -> Object:
    """Return an object whose engine runs a script of as many units as the budget allows."""
    end = "\nexec vllm serve m --tensor-parallel-size 8"
    per = max(1, sum(map(unit.count, " \t\n;&|()<>")))
    count = min((characters - len(end) - 64) // len(unit), (breaks - 16) // per)
    return pods(script(unit * count + end))


def configured(text: str) -> Object:
    """Return an object with an endpoint picker configuration."""
    return lws(strategy="prefix-cache", endpoint_picker_config=text)


def bomb() -> str:
    """Return a configuration whose aliases expand to 10^8 values."""
    lines = [f"  a0: &a0 [{', '.join(['x'] * 10)}]"]
    lines += [f"  a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 8)]
    return HEAD + "plugins:\n- type: queue-scorer\n  parameters:\n" + "\n".join("  " + one for one in lines)


def plugins(count: int) -> str:
    """Return a configuration of many plugins with distinct names, and as many references."""
    names = [f"plugin-with-a-long-name-{at}" for at in range(count)]
    declared = "".join(f"- {{name: {name}, type: x}}\n" for name in names)
    asked = "".join(f"  - pluginRef: {name[:-1]}x\n" for name in names)
    return f"{HEAD}plugins:\n{declared}schedulingProfiles:\n- name: a\n  plugins:\n{asked}"


def env(count: int, value: str = "x") -> list[Object]:
    """Return `count` variables."""
    return [{"name": f"A{at}", "value": value} for at in range(count)]


def flags(count: int, flag: str) -> list[str]:
    """Return `count` flags, each with a value."""
    return [word for at in range(count) for word in (flag.format(at=at), f"{at}")]


def forged(items: int) -> str:
    """Return a record that claims that many variables were injected."""
    variables = [{"name": f"A{at}", "value": "x"} for at in range(items)]
    pod = {"spec": {"containers": [{"name": "vllm", "env": variables}]}}
    injected = {"spec": {"leaderWorkerTemplate": {"workerTemplate": pod}}}
    whole = {"v": 2, "decided": {}, "parts": {"env": {"in": "0" * 16, "set": injected}}, "was": {}}
    return json.dumps(whole)


def _many(count: int, *others: Object) -> Object:
    return pods(container(), *others, *(container(f"c{at}") for at in range(count)))


ROWS: Final = 10
"""The number of rows of `REVIEWED` that were found in the first release; the others bound later features."""
REVIEWED: Final[Mapping[str, Callable[[], Object]]] = {
    # found to stop the webhook
    "YAML aliases": lambda: configured(bomb()),
    "12,000 references in a value": lambda: engine("--kv-transfer-config", "$(A1)" * 12_000, env=env(12_000)),
    "references in 7 flags": lambda: engine(
        *(
            word
            for flag in ("port", "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
            for word in (f"--{flag}", "".join(f"$(A{at})" for at in range(2_000)))
        ),
        env=env(2_000),
    ),
    "40 containers with scripts of 60 KB": lambda: pods(
        *(script("a;" * 30_000 + "vllm serve m", name=f"c{at}") for at in range(40))
    ),
    "an image of 2.4 MB": lambda: pods(container(image="vllm/" + "x" * 2_400_000)),
    "an unhashable key": lambda: configured("? [a]: b"),
    "a template that was not rendered": lambda: configured("plugins: {{ .Values.plugins }}"),
    "a map as apiVersion": lambda: configured("apiVersion: {a: b}\nkind: [x]\nfeatureGates: [{a: b}]"),
    "a huge exponent": lambda: pods(container(resources={"limits": {"nvidia.com/gpu": "1e999999E"}})),
    "1.2 MB of variables": lambda: put(engine(env=env(2_000, "x" * 580))),
    # others, each as large as the budget allows
    "a script of commands": lambda: shell("a;"),
    "a script of words": lambda: shell("a "),
    "a script of engines": lambda: shell("vllm serve m;"),
    "a script of redirections": lambda: shell("a>b;"),
    "a script of reserved words": lambda: shell("if a;then b;fi;"),
    "a script of quotes": lambda: shell("'a'\"$b\"", breaks=10**9),
    "a script of substitutions": lambda: shell('"$(a)"', breaks=10**9),
    "a script of here-documents": lambda: shell("<<A "),
    "a script of backslashes": lambda: shell("\\a", breaks=10**9),
    "a script of dollars": lambda: shell("$", breaks=10**9),
    "a script of nested braces": lambda: shell("${", breaks=10**9),
    "a script of one word": lambda: shell("abcdefgh", breaks=10**9),
    "a script of python": lambda: shell("python -x -y -z ", breaks=budget.BREAKS.most),
    "a script that is not closed": lambda: pods(script("vllm serve m '" + "a" * 60_000)),
    "a script of almost launches": lambda: shell(
        "ray  ray run_cluster -- --node ", breaks=budget.BREAKS.most
    ),
    "100 containers with scripts": lambda: pods(
        *(script("a;" * 20 + "vllm serve m", name=f"c{at}", resources=None) for at in range(100))
    ),
    "100 containers with flags": lambda: _many(99),
    "100 containers without accelerators": lambda: pods(
        *(container(f"c{at}", resources=None, args=["m", *["--x=1"] * 35]) for at in range(100))
    ),
    "4,000 flags": lambda: engine(*flags(2_000, "--max-model-len")),
    "4,000 unknown flags": lambda: engine(*flags(2_000, "--option-{at}")),
    "4,000 switches": lambda: engine(*["--enforce-eager"] * 4_000),
    "4,000 transfer flags": lambda: engine(*flags(2_000, "--kv-transfer-config.a{at}.b.c")),
    "deep transfer flags": lambda: engine("--kv-transfer-config" + ".a" * 30_000, "1"),
    "deep connectors": lambda: engine(
        "--kv-transfer-config", '{"kv_connector_extra_config":{"connectors":[' * 200 + "]}}" * 200
    ),
    "4,000 positional": lambda: engine(*["x"] * 4_000),
    "4,000 python": lambda: engine(*["python3"] * 4_000, command=["env"]),
    "4,000 prefixes": lambda: engine(*["exec"] * 4_000, command=["env"]),
    "4,000 flags named twice on two templates": lambda: lws(
        worker=template(container(args=["m", *flags(1_000, "--option-{at}")])),
        leader=template(container(args=["n", *flags(1_000, "--option-{at}")])),
    ),
    "2,000 variables": lambda: engine("$(A1)", env=env(2_000)),
    "2,000 variables in 2,000 flags": lambda: engine(
        *(f"--x{at}=$(A{at})" for at in range(2_000)), env=env(2_000)
    ),
    "a configuration of plugins": lambda: configured(plugins(60)),
    "a configuration of brackets": lambda: configured("[" * 64 + '"",' * 2_600),
    "a configuration of keys": lambda: configured("\n".join(f"k{at}: x" for at in range(900))),
    "a configuration of escapes": lambda: configured('"' + "\\x41" * 2_000 + '"'),
    "a configuration of lines": lambda: configured(HEAD + "\n" * 8_000),
    "a configuration of half a pair": lambda: configured('"\\ud800": "\\udc00"'),
    "a configuration of digits": lambda: configured("a: " + "9" * 5_000),
    "a configuration of like names": lambda: configured(
        f"{HEAD}plugins:\n- {{name: {'a' * 3_000}, type: x}}\n"
        f"dataLayer: {{sources: [{{pluginRef: {'a' * 2_999}}}]}}"
    ),
    "256 unknown annotations": lambda: annotated(
        {"fusioninfer.io/service": "svc"} | {f"fusioninfer.io/servic-{at}": "x" for at in range(255)}
    ),
    "20,000 unknown annotations": lambda: annotated(
        {"fusioninfer.io/service": "svc"} | {f"fusioninfer.io/servic-{at}": "x" for at in range(20_000)}
    ),
    "100,000 annotations": lambda: annotated({f"a/{at}": "" for at in range(100_000)}),
    "a key of 1 MB": lambda: annotated({"fusioninfer.io/" + "k" * 1_000_000: ""}),
    "a name of 1 MB": lambda: lws(service="s" * 1_000_000),
    "100,000 arguments": lambda: engine(*("--flag",) * 100_000),
    "a record that is forged": lambda: lws(
        expansion=forged(3_000), worker=template(container(env=env(2_000)))
    ),
    "a record of 3 MB": lambda: lws(expansion=forged(60_000)),
    "10,000 containers": lambda: _many(10_000),
    "20,000 ports": lambda: lws(
        component_type="decoder",
        worker=template(container(ports=[{"containerPort": at} for at in range(20_000)])),
    ),
    "20,000 volumes named dshm": lambda: pods(
        container(),
        volumes=[{"name": "dshm" + (f"-{at}" if at else ""), "emptyDir": {}} for at in range(20_000)],
    ),
    "20,000 mounts": lambda: engine(
        volumeMounts=[{"name": f"v{at}", "mountPath": f"/{at}"} for at in range(20_000)]
    ),
    "20,000 labels": lambda: changed(
        lws(),
        "spec.leaderWorkerTemplate.workerTemplate.metadata",
        {"labels": {f"a/{at}": "" for at in range(20_000)}},
    ),
    "20,000 labels of ours": lambda: changed(
        lws(), "metadata.labels", {f"fusioninfer.io/{at}": "" for at in range(20_000)}
    ),
    "20,000 roles": lambda: lws(roles=",".join(f"r{at}" for at in range(20_000))),
    "20,000 parts": lambda: lws(skip=",".join(f"r{at}" for at in range(20_000))),
    "20,000 limits": lambda: pods(
        container(resources={"limits": {f"nvidia.com/mig-{at}": "x" for at in range(20_000)}})
    ),
    "a deep container": lambda: pods(container(x=_deep(200))),
    "6 MB of nothing of ours": lambda: changed(lws(), "metadata.annotations.x", "y" * 6_000_000),
    "6 MB in a flag": lambda: engine("y" * 6_000_000),
    "6 MB in a probe": lambda: pods(container(readinessProbe={"exec": {"command": ["y" * 200] * 30_000}})),
    **{
        f"{kind}: {count:,} of {things} in {path.rpartition('.')[2]}": partial(
            tiny, kind, path, things, count
        )
        for kind, path, things in (
            ("LeaderWorkerSet", "leaderWorkerTemplate.workerTemplate.spec.tolerations", "empty maps"),
            ("LeaderWorkerSet", "leaderWorkerTemplate.workerTemplate.spec.containers.0.ports", "empty maps"),
            ("LeaderWorkerSet", "leaderWorkerTemplate.workerTemplate.spec.volumes", "named items"),
            ("LeaderWorkerSet", "leaderWorkerTemplate.workerTemplate.spec.nodeSelector", "fields"),
            ("InferenceService", "roles.0.template.spec.tolerations", "empty maps"),
            ("InferenceService", "roles.0.template.spec.hostAliases.0.hostnames", "texts"),
            ("InferenceService", "roles.0.template.spec.containers.0.resources.limits", "fields"),
            ("InferenceService", "roles", "empty maps"),
        )
        for count in (MOST, FAR_OVER)
    },
    "an InferenceService of 32 roles": lambda: _roles(32, "a;" * 60 + "vllm serve m"),
    "an InferenceService of 32 long scripts": lambda: _roles(32, "a;" * 30_000 + "vllm serve m"),
    "an InferenceService with a bomb": lambda: _router({"endpointPickerConfig": bomb()}),
    "an InferenceService with 10,000 rules": lambda: _router(
        {"httproute": {"rules": [{"name": "x", "matches": [{"path": {"value": "nope"}}]}] * 10_000}}
    ),
    "an InferenceService with unknown fields": lambda: _router({f"strateg{at}": at for at in range(20_000)}),
}
"""Objects and reviews, by the respect in which they are large."""


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


def _roles(count: int, text: str) -> Object:
    pod = template(script(text))
    engines = [
        {"name": f"r{at}", "componentType": "worker" if not at else "decoder", "template": pod}
        for at in range(count)
    ]
    return changed(isvc(), "spec.roles", engines)


def _router(fields: Object) -> Object:
    roles = [
        {"name": "w", "componentType": "worker", "template": template(container())},
        {"name": "router", "componentType": "router"} | fields,
    ]
    return changed(isvc(), "spec.roles", roles)


def written(live: Object) -> list[bytes]:
    """Return the reviews of an object: a CREATE, and an UPDATE of one label if both versions fit."""
    labels = {**live["metadata"].get("labels", {}), "one": "1"}
    old = {**live, "metadata": {**live["metadata"], "labels": labels}}
    both = [orjson.dumps(review(live)), orjson.dumps(review(live, old))]
    return [body for body in both if len(body) <= 7 * 2**20]


def bodies() -> dict[str, bytes]:
    """Return every review, by name."""
    return {
        name + again: body
        for name, make in REVIEWED.items()
        for again, body in zip(("", ", again"), written(make()), strict=False)
    }


_PLAIN: Final = orjson.dumps([{"name": f"VARIABLE_{at}", "value": "value " * 3} for at in range(1_330)])


def cost(call: Callable[[bytes], object], sent: bytes, times: int = 1) -> float:
    """Return the least CPU seconds of a call, without a search for cycles among what other tests left."""
    gc.freeze()
    found = []
    for _ in range(times):
        since = time.thread_time()
        call(sent)
        found.append(time.thread_time() - since)
    return min(found)


def reference(times: int = 5) -> float:
    """Return the CPU seconds of `json.loads` of a 64 KB review: the current speed of this machine."""
    return cost(json.loads, _PLAIN, times)


def allowed(sent: bytes, times: int = 5) -> float:
    """Return the CPU seconds that a request may cost."""
    least = FLOOR * reference(times)
    return least if len(sent) <= 65_536 else max(least, RATIO * cost(json.loads, sent, times))
