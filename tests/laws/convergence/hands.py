"""Changes by hand on the stored object, and the mapping of each to the object without our webhooks.

The author sees the expanded object and changes it. Where the change meets only what the author wrote, the
same change is made on A. Where it meets a part that we wrote, the mapping of the table says what the author
would have written. A change returns False where it does not apply.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from intent import Object
from intent.annotations import EXPANSION
from tests.laws.convergence.files import PREFIX, PROBES, SHM
from tests.laws.convergence.schema import copied, templates

Change = Callable[[Object], bool]
T = TypeVar("T")
LENGTH: Final = re.compile(r"(--max-model-len|--context-length) \d+")
TEMPLATES: Final = ("leaderTemplate", "workerTemplate")
LENGTHS: Final = ("--max-model-len", "--context-length")
LISTS: Final = ("env", "initContainers", "volumeMounts", "volumes")
"""Lists of which a removal by hand takes items."""


@dataclass(frozen=True, slots=True)
class Hand:
    """One kind of change: what it does to the expanded object, and to the other one."""

    change: Change
    mapped: Change
    """On A."""
    delta: bool = False
    """Whether it changes the leader alone: where A has no leader template, it is kept as a difference."""
    one_part: bool = False
    """Whether it changes the launch of one template. `mapped` is for an A that has one template."""

    def on_two(self, a: Object, before: Object, wanted: Object) -> bool:
        """Change an A that has two templates, apart from one that the change left as it was on B."""
        group, was, now = (one["spec"]["leaderWorkerTemplate"] for one in (a, before, wanted))
        left = {name: group[name] for name in TEMPLATES if name in was and was[name] == now.get(name)}
        kept = copied(left)
        found = (self.change if self.one_part else self.mapped)(a)
        group.update(kept)
        return found


def engine_of(template: Object) -> Object | None:
    """Return the engine container: the one with a limit of memory."""
    for item in template.get("spec", {}).get("containers", ()):
        if "memory" in item.get("resources", {}).get("limits", {}):
            found: Object = item
            return found
    return None


def engines(lws: Object, *parts: str) -> Iterator[Object]:
    """Yield the engine containers of all templates, or of those named `leader` and `worker`."""
    for field, template in templates(lws):
        engine = engine_of(template)
        if engine is not None and (not parts or field.removesuffix("Template") in parts):
            yield engine


def where_written(change: Change) -> Change:
    """Map a removal: what the author wrote is removed, and what we wrote is restored.

    A list that has nothing else goes too: on B the author leaves what others added to it.
    """

    def made(lws: Object) -> bool:
        lists = [(owner, key) for owner in _owners(lws) for key in LISTS if owner.get(key)]
        change(lws)
        for owner, key in lists:
            if owner[key] == []:
                del owner[key]
        return True

    return made


def _owners(lws: Object) -> Iterator[Object]:
    """Yield the pod specs and the engine containers."""
    for _, template in templates(lws):
        yield template.get("spec", {})
        yield engine_of(template) or {}


# --- changes of what the author wrote -----------------------------------------------------------------


def in_all(change: Callable[[Object, Object], Any]) -> Change:
    """Return a change of every template: of its pod spec and its engine container."""

    def made(lws: Object) -> bool:
        found = [(template, engine_of(template)) for _, template in templates(lws)]
        for template, engine in found:
            if engine is None:
                return False
            change(template, engine)
        return bool(found)

    return made


def _set_image(_template: Object, engine: Object) -> None:
    engine["image"] = "vllm/vllm-openai:v0.19.0"


def _add_env(_template: Object, engine: Object) -> None:
    env = engine.setdefault("env", [])
    if all(item["name"] != "HAND" for item in env):
        env.append({"name": "HAND", "value": "1"})


def _restart(template: Object, _engine: Object) -> None:
    template.setdefault("metadata", {}).setdefault("annotations", {})["kubectl.kubernetes.io/restartedAt"] = (
        "now"
    )


def _add_container(template: Object, _engine: Object) -> None:
    items = template["spec"]["containers"]
    if all(item["name"] != "logger" for item in items):
        items.append({"name": "logger", "image": "fluentbit:1"})


def _add_volume(template: Object, engine: Object) -> None:
    volumes = template["spec"].setdefault("volumes", [])
    if all(item["name"] != "scratch" for item in volumes):
        volumes.append({"name": "scratch", "emptyDir": {}})
        engine.setdefault("volumeMounts", []).append({"name": "scratch", "mountPath": "/scratch"})


def _rename(_template: Object, engine: Object) -> None:
    engine["name"] = "renamed"


def _set_scheduler(template: Object, _engine: Object) -> None:
    template["spec"]["schedulerName"] = "other"


def annotated(**values: str | None) -> Change:
    """Return a change of our annotations, as by `kubectl annotate`; None removes one."""

    def made(lws: Object) -> bool:
        annotations = lws["metadata"].setdefault("annotations", {})
        for name, value in values.items():
            key = PREFIX + name.replace("_", "-")
            if value is None:
                annotations.pop(key, None)
            else:
                annotations[key] = value
        return True

    return made


def opt_out(lws: Object) -> bool:
    """Remove our annotations; the record stays."""
    annotations = lws["metadata"].get("annotations", {})
    ours = [key for key in annotations if key.startswith(PREFIX) and key != EXPANSION]
    for key in ours:
        del annotations[key]
    return bool(ours)


def eject(lws: Object) -> bool:
    """Remove our annotations and the record together."""
    opted_in = opt_out(lws)
    lws["metadata"]["annotations"].pop(EXPANSION, None)
    return opted_in


def lose_record(lws: Object) -> bool:
    """Remove the record alone."""
    return lws["metadata"].get("annotations", {}).pop(EXPANSION, None) is not None


def resize(lws: Object) -> bool:
    """Change the size of the group."""
    group = lws["spec"]["leaderWorkerTemplate"]
    group["size"] = 2 if group["size"] == 3 else 3
    return True


def scale_up(lws: Object) -> bool:
    """Change the number of groups."""
    lws["spec"]["replicas"] += 1
    return True


# --- changes of the launch ----------------------------------------------------------------------------


def longer(*parts: str) -> Change:
    """Return a change of the value of one flag, in list items or in a script."""

    def made(lws: Object) -> bool:
        found = [_lengthen(engine) for engine in engines(lws, *parts)]
        return any(found)

    return made


def _lengthen(engine: Object) -> bool:
    found = False
    for field in ("command", "args"):
        words = engine.get(field) or []
        for at, word in enumerate(words):
            if word in LENGTHS and at + 1 < len(words):
                words[at + 1], found = "32768", True
            elif LENGTH.search(word):
                words[at], found = LENGTH.sub(r"\1 32768", word), True
    return found


def appended(*parts: str) -> Change:
    """Return a change that appends a flag to the arguments, where these are list items of the engine."""

    def made(lws: Object) -> bool:
        found = [
            engine
            for engine in engines(lws, *parts)
            if any(word in LENGTHS for word in engine.get("args", ()))
        ]
        for engine in found:
            engine["args"].append("--trust-remote-code")
        return bool(found)

    return made


# --- changes of what we wrote -------------------------------------------------------------------------


def _named(items: Any, name: str) -> Object | None:
    return next((item for item in items or () if item["name"] == name), None)


def of_ours(find: Callable[[Object], T | None], change: Callable[[T], object]) -> Change:
    """Return a change of what is found in a template, in each that has it."""

    def made(lws: Object) -> bool:
        found = [item for _, template in templates(lws) if (item := find(template)) is not None]
        for item in found:
            change(item)
        return bool(found)

    return made


def _our_env(template: Object) -> tuple[list[Object], Object] | None:
    """Return the variables of the engine, and the one that we set."""
    env = (engine_of(template) or {}).get("env", [])
    item = _named(env, "VLLM_HOST_IP")
    return (env, item) if item and "valueFrom" in item else None


def _set_value(env: tuple[list[Object], Object]) -> None:
    del env[1]["valueFrom"]
    env[1]["value"] = "10.9.9.9"


drop_env = of_ours(_our_env, lambda env: env[0].remove(env[1]))
"""Remove a variable that we set, from every engine."""
set_env = of_ours(_our_env, _set_value)
"""Change the value of a variable that we set."""


def write_env(lws: Object) -> bool:
    """Write the variable with the value that `set_env` gives it, where ours is or would be."""
    set_env(lws)
    for engine in engines(lws):
        if _named(engine.get("env"), "VLLM_HOST_IP") is None:
            engine.setdefault("env", []).insert(0, {"name": "VLLM_HOST_IP", "value": "10.9.9.9"})
    return True


def _memory(template: Object) -> tuple[Object, Object] | None:
    """Return our memory volume and its mount."""
    volume = _named(template["spec"].get("volumes"), "dshm")
    engine = engine_of(template) or {}
    mount = _named(engine.get("volumeMounts"), "dshm")
    return (volume, mount) if volume and mount else None


def drop_memory(*, volume: bool = True) -> Change:
    """Return a change that removes our mount of /dev/shm, with or without its volume.

    An author may have written one of them alone.
    """

    def made(lws: Object) -> bool:
        found = False
        for _, template in templates(lws):
            owners = [(engine_of(template) or {}, "volumeMounts")]
            owners += [(template["spec"], "volumes")] if volume else []
            for owner, key in owners:
                if item := _named(owner.get(key), "dshm"):
                    owner[key].remove(item)
                    found = True
        return found

    return made


limit_memory = of_ours(_memory, lambda units: units[0]["emptyDir"].update(sizeLimit="4Gi"))
"""Add a limit to our memory volume."""
mark_mount = of_ours(_memory, lambda units: units[1].update(readOnly=False))
"""Add a field to our mount."""


def write_memory(change: Change) -> Change:
    """Return a change that writes volume and mount as ours, unless they are there, and then changes them."""

    def made(lws: Object) -> bool:
        for _, template in templates(lws):
            engine = engine_of(template)
            if engine is not None and _memory(template) is None:
                volumes = template["spec"].setdefault("volumes", [])
                limit = engine.get("resources", {}).get("limits", {}).get("memory")
                size = {"sizeLimit": limit} if limit else {}
                volumes.append({"name": "dshm", "emptyDir": {"medium": "Memory", **size}})
                engine.setdefault("volumeMounts", []).append({"name": "dshm", "mountPath": SHM})
        return change(lws)

    return made


def _download(template: Object) -> tuple[list[Object], Object] | None:
    """Return the init containers, and ours that downloads the model."""
    items = template["spec"].get("initContainers", [])
    item = _named(items, "storage-initializer")
    return (items, item) if item else None


drop_download = of_ours(_download, lambda init: init[0].remove(init[1]))
"""Remove our init container that downloads the model."""
limit_download = of_ours(_download, lambda init: init[1].update(resources={"limits": {"memory": "16Gi"}}))
"""Change the memory of our init container that downloads the model."""


def drop_accelerators(lws: Object) -> bool:
    """Remove the accelerators that engines request."""
    limits = [engine["resources"]["limits"] for engine in engines(lws)]
    dropped = [one.pop("nvidia.com/gpu", None) for one in limits]
    return any(dropped)


def _request_fewer(_template: Object, engine: Object) -> None:
    engine["resources"]["limits"]["nvidia.com/gpu"] = "4"


def drop_leader(lws: Object) -> bool:
    """Remove the leader's template."""
    return lws["spec"]["leaderWorkerTemplate"].pop("leaderTemplate", None) is not None


def probe_worker(lws: Object) -> bool:
    """Add a probe to the workers, where the leader has one and they have none."""
    leader, worker = (list(engines(lws, part)) for part in ("leader", "worker"))
    if not leader or "readinessProbe" not in leader[0] or "readinessProbe" in worker[0]:
        return False
    worker[0]["readinessProbe"] = copied(PROBES["readinessProbe"])
    return True


# --- changes of the leader alone ------------------------------------------------------------------------


def in_leader(change: Callable[[Object, Object], Any]) -> Change:
    """Return a change of the leader's template."""

    def made(lws: Object) -> bool:
        template = lws["spec"]["leaderWorkerTemplate"].get("leaderTemplate")
        engine = engine_of(template) if template else None
        if engine is None:
            return False
        change(template, engine)
        return True

    return made


def _select_node(template: Object, _engine: Object) -> None:
    template["spec"]["nodeSelector"] = {"pool": "leaders"}


def _same(change: Change, *, delta: bool = False) -> Hand:
    return Hand(change, change, delta)


HANDS: Final[dict[str, Hand]] = {
    "image of all": _same(in_all(_set_image)),
    "env of all": _same(in_all(_add_env)),
    "restart": _same(in_all(_restart)),
    "container in all": _same(in_all(_add_container)),
    "volume in all": _same(in_all(_add_volume)),
    "rename engine": _same(in_all(_rename)),
    "replicas": _same(scale_up),
    "size": _same(resize),
    "launcher ray-start": _same(annotated(launcher="ray-start")),
    "launcher none": _same(annotated(launcher="none")),
    "skip shm": _same(annotated(skip="shm")),
    "role": _same(annotated(role_name="third")),
    "opt out": _same(opt_out),
    "opt in": _same(annotated(service="svc")),
    "refresh": _same(annotated(refresh="now")),
    "scheduler of all": _same(in_all(_set_scheduler)),
    "flag of all": _same(longer()),
    "flag of leader": Hand(longer("leader"), longer(), one_part=True),
    "flag of worker": Hand(longer("worker"), longer(), one_part=True),
    "append to all": _same(appended()),
    "append to leader": Hand(appended("leader"), appended(), one_part=True),
    "append to worker": Hand(appended("worker"), appended(), one_part=True),
    "drop our env": Hand(drop_env, where_written(drop_env)),
    "set our env": Hand(set_env, write_env),
    "drop our memory": Hand(drop_memory(), where_written(drop_memory())),
    "drop our mount": Hand(drop_memory(volume=False), where_written(drop_memory(volume=False))),
    "limit our memory": Hand(limit_memory, write_memory(limit_memory)),
    "field in our mount": Hand(mark_mount, write_memory(mark_mount)),
    "drop our download": Hand(drop_download, where_written(drop_download)),
    "limit our download": Hand(limit_download, where_written(limit_download)),
    "model of all": _same(annotated(model="s3://bucket/m")),
    "no model": _same(annotated(model=None)),
    "cache of all": _same(annotated(model_cache="download")),
    "lora of all": _same(annotated(lora="sql=hf://acme/sql,law=pvc://adapters/law")),
    "no lora": _same(annotated(lora=None)),
    "priority of all": _same(annotated(priority="Sheddable")),
    "parallelism of all": _same(annotated(parallelism="tensor=8,pipeline=2")),
    "no parallelism": _same(annotated(parallelism=None)),
    "fewer accelerators": _same(in_all(_request_fewer)),
    "drop accelerators": Hand(drop_accelerators, where_written(drop_accelerators)),
    "drop leader template": Hand(drop_leader, where_written(drop_leader)),
    "leader env": _same(in_leader(_add_env), delta=True),
    "leader node selector": _same(in_leader(_select_node), delta=True),
    "leader image": _same(in_leader(_set_image), delta=True),
    "eject": Hand(eject, eject),
    "lose record": Hand(lose_record, where_written(lose_record)),
    "probe of workers": Hand(probe_worker, where_written(probe_worker)),
}
RARE: Final = ("lose record", "probe of workers")
"""Changes that are drawn less often: most authors never make them."""
