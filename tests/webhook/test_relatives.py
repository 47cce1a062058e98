"""Kinds of launches in each form in which authors write them: what comes of one form comes of all.

A row is a kind: the command lines of its pods. `FORMS` makes its relatives of them, so that no row is true of
the words of one file alone. To add a kind, add a row; to add a form, add a function.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import pytest

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import compose
from importer.table import import_all
from intent import Object
from intent.served import recorded
from intent.settings import Settings
from tests.builders.isvc import isvc, role, router
from tests.builders.lws import PREFIX, changed, container, lws, template

V: Final = "vllm/vllm-openai:v"
HEALTH: Final[Object] = {"readinessProbe": {"httpGet": {"path": "/health", "port": 8000}}}
MODELS: Final[Object] = {"readinessProbe": {"httpGet": {"path": "/v1/models", "port": 8000}}}


def on(limits: Object) -> Object:
    """Return the fields of an engine on other devices."""
    return {**HEALTH, "resources": {"requests": {"cpu": "8", "memory": "1Gi"}, "limits": limits}}


CLAIMS: Final[Object] = {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "eight-gpus"}]}


def claiming(limits: Object) -> Object:
    """Return the fields of an engine that uses a claim (DRA)."""
    fields = on(limits)
    return {**fields, "resources": fields["resources"] | {"claims": [{"name": "gpus"}]}}


class Kind(NamedTuple):
    """A launch, and what comes of it in each form."""

    line: str
    """The command line of the pods, or of the workers."""
    codes: str = ""
    """The findings: exactly these."""
    says: str = ""
    """Patterns in `facts`, apart by `; `; nothing matches one that begins with `!`."""
    image: str = f"{V}0.23.0"
    leader: str = ""
    """The command line of the leader, if it differs."""
    size: int = 2
    notes: Mapping[str, str] = {}
    engine: Mapping[str, Any] = HEALTH
    leading: Mapping[str, Any] = HEALTH
    """Fields of the engine container of the leader, if its line differs."""
    pod: Mapping[str, Any] = {}
    beside: tuple[Object, ...] = ()
    mended: str | None = None
    """The findings after an import, which writes another launch where this one cannot run."""


S: Final = "vllm serve org/M"
SGLANG: Final = partial(Kind, image="lmsysorg/sglang:v0.5.9")
SG: Final = "python3 -m sglang.launch_server --model-path org/M --host 0.0.0.0 --port 8000 --tp 16"
DECODE: Final = f"{SG} --disaggregation-mode decode"
TWO: Final = f"{S} --tensor-parallel-size 8 --pipeline-parallel-size 2"
CROSSING: Final = f"{S} --tensor-parallel-size 16"
EP: Final = f"{S} --data-parallel-size 16 --data-parallel-size-local 8"
EXTERNAL: Final = f"{S} --data-parallel-size 2 --tensor-parallel-size 8 --data-parallel-external-lb"
HYBRID, PORTS = f"{EP} --data-parallel-hybrid-lb", f"{EP} --data-parallel-multi-port-external-lb"
NODES: Final = "--nnodes 2 --node-rank $(LWS_WORKER_INDEX) --master-addr $(LWS_LEADER_ADDRESS)"
HAND: Final = f"{TWO} {NODES}"
OWN: Final = f"{EP} --data-parallel-address $(LWS_LEADER_ADDRESS)"
RAY: Final = "bash /vllm-workspace/examples/online_serving/multi-node-serving.sh"
CONSUMER: Final = '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
NIXL: Final = f"--kv-transfer-config '{CONSUMER}'"
NESTED: Final = (
    """--kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_both", """
    f""""kv_connector_extra_config": {{"connectors": [{CONSUMER}]}}}}'"""
)
ROUTED: Final = {"strategy": "prefix-cache"}
DECODER: Final = {"component_type": "decoder", "strategy": "pd-disaggregation"}
NAMED_VLLM: Final[Object] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "vllm"}}
ALL, LEADERS = "^serving: all pods", "^serving: leaders"
NATIVE: Final = (
    f"{LEADERS}; ^leader: .*--nnodes 2; ^worker: .*--nnodes 2.*--headless; !ray start|symmetric-run"
)
RANK: Final = "^worker: .*--data-parallel-address; ^worker: .*--data-parallel-start-rank; !ray|--nnodes"
OLDER: Final = f"{LEADERS}; {RANK}; ^worker: .*--headless"
MOVED: Final = "^leader: .*--port.8200; ^sidecar of leader: --port=8000 --vllm-port=8200 --kv-connector="
KINDS: Final[dict[str, Kind]] = {
    "hybrid": Kind(HYBRID, "", f"{ALL}; {RANK}; !--headless"),
    "hybrid, newer": Kind(HYBRID, "", f"{ALL}; --nnodes; !--headless", f"{V}0.32.0"),
    "hybrid, by hand": Kind(f"{OWN} -dph -dpr 8", "", f"{ALL}; !--nnodes", leader=f"{OWN} -dph -dpr 0"),
    "external": Kind(
        EXTERNAL, "", rf"{ALL}; ^worker: .*-rank \$\(LWS_WORKER_INDEX; !--headless|--data-parallel-start-rank"
    ),
    "external, too few pods": Kind(f"{S} --data-parallel-size 16 --data-parallel-external-lb", "FI329"),
    "multi-port": Kind(
        *(PORTS, "", rf"{ALL} 8000.*8007, 9256; ^pool: 8000 .*8007$; {RANK}; !--headless", f"{V}0.30.0"),
        notes=ROUTED,
    ),
    "local ranks": Kind(EP, "", OLDER),
    "local ranks, older": Kind(EP, "", OLDER, f"{V}0.10.2"),
    "local ranks, a vendor's image": Kind(EP, "", OLDER, "nvcr.io/nvidia/vllm:25.10-py3"),
    "local ranks, newer": Kind(EP, "", NATIVE, f"{V}0.32.0"),
    "more local ranks than accelerators": Kind(
        f"{S} --data-parallel-size 32 --data-parallel-size-local 16", "FI316"
    ),
    "unequal local ranks": Kind(
        f"{S} --data-parallel-size 12 --data-parallel-size-local 8",
        *("", rf"{OLDER}; LWS_WORKER_INDEX-1\)\*8", f"{V}0.32.0"),
        leader=f"{S} --data-parallel-size 12 --data-parallel-size-local 4",
        leading=on({"nvidia.com/gpu": "4"}),
    ),
    "a leader that serves the API alone": Kind(
        f"{S} --data-parallel-size 8 --data-parallel-size-local 8",
        *("", OLDER, f"{V}0.30.0"),
        leader=f"{S} --data-parallel-size 8 --data-parallel-size-local 0",
        leading=on({}),
    ),
    "what 0.17 cannot start": Kind(
        f"{TWO} --distributed-executor-backend mp", "FI504", "!nnodes", f"{V}0.17.1"
    ),
    "what 0.17 cannot start, by hand": Kind(HAND, "FI504", image=f"{V}0.17.1"),
    "a decoder of SGLang as worker": SGLANG(DECODE, "FI318"),
    "a worker of SGLang": SGLANG(f"{SG} --disaggregation-mode null"),
    "a decoder of SGLang": SGLANG(
        *(DECODE, "", f"{LEADERS}; ^sidecar of leader: .*--kv-connector=sglang; !^sidecar of worker"),
        notes=DECODER,
    ),
    "a decoder of SGLang, by hand": SGLANG(
        f"{DECODE} --nnodes 2 --node-rank $(LWS_WORKER_INDEX)",
        "",
        f"{MOVED}sglang; !^worker: .*8200",
        notes={**DECODER, "launcher": "none"},
    ),
    "nodes of SGLang without an API": SGLANG(
        SG, "", "^probes of leader: .*/v1/models; !^probes of worker: .*/v1/models", engine=MODELS
    ),
    "Ray by hand without Ray": Kind(
        f"bash -c '{RAY} worker --ray_address=$(LWS_LEADER_ADDRESS)'",
        *("FI504", "", "vllm/vllm-openai:latest"),
        leader=f"bash -c '{RAY} leader --ray_cluster_size=$(LWS_GROUP_SIZE); {TWO} --port 8080'",
        mended="",
    ),
    "a start rank that pods share": Kind(f"{EP} --data-parallel-start-rank 0", "FI328"),
    "a node rank that pods share": Kind(HAND.replace("$(LWS_WORKER_INDEX)", "0"), "FI570"),
    "no readinessProbe": Kind(TWO, "FI571", notes=ROUTED, engine={}),
    "a Service named vllm": Kind(TWO, "FI924", beside=(NAMED_VLLM,)),
    "hostNetwork": Kind(TWO, "FI510", pod={"hostNetwork": True}),
    "hostNetwork, by hand": Kind(HAND, "FI510", pod={"hostNetwork": True}),
    **{
        f"hostNetwork, DNS {name}": Kind(TWO, codes, pod={"hostNetwork": True, "dnsPolicy": name})
        for name, codes in (("Default", "FI510"), ("ClusterFirstWithHostNet", ""), ("None", ""))
    },
    "an image of llm-d": Kind(TWO, "", NATIVE, "ghcr.io/llm-d/llm-d-cuda:v0.9.0"),
    "an image of a vendor": Kind(TWO, "", NATIVE, "nvcr.io/nvidia/vllm:26.05-py3"),
    "a stock image": Kind(TWO, "", NATIVE),
    "the newest image": Kind(TWO, "", NATIVE, "vllm/vllm-openai:latest"),
    "an image of the night": Kind(TWO, "", NATIVE, "vllm/vllm-openai:nightly-ab12"),
    "an image without a tag": Kind(TWO, "", NATIVE, "docker.io/vllm/vllm-openai"),
    "an image of unknown contents": Kind(TWO, "FI527", NATIVE, "corp/llm:1"),
    "local ranks, an image of unknown contents": Kind(EP, "", OLDER, "corp/llm:1"),
    "Ray that the author names": Kind(
        f"{TWO} --distributed-executor-backend ray", "", "ray start; !symmetric-run", "corp/llm:1"
    ),
    "a release that hangs": Kind(CROSSING, "FI569 FI502", image=f"{V}0.28.0"),
    "sizes by hand": Kind(f"{CROSSING} --pipeline-parallel-size 2 {NODES}", "FI307", mended="FI316"),
    "idle accelerators by hand": Kind(f"{S} --tensor-parallel-size 8 {NODES}", "FI501"),
    "another number of nodes by hand": Kind(f"{TWO} {NODES}".replace("s 2 --node", "s 3 --node"), "FI512"),
    "crossing by hand": Kind(f"{CROSSING} {NODES}", mended="FI502"),
    "a launch by hand that is meant": Kind(HAND, notes={"launcher": "none"}),
    "variables of one template": Kind(
        *(TWO, "FI513", f"FI513: .*{'A' * 80}, B"),
        leader=TWO,
        leading={**HEALTH, "env": [{"name": "A" * 80, "value": "1"}, {"name": "B", "value": "1"}]},
    ),
    "TPUs": Kind(
        *(f"{S} --tensor-parallel-size 8", "", "ray start", "vllm/vllm-tpu:v0.19.0"),
        engine=on({"google.com/tpu": "4"}),
    ),
    "NVL72": Kind(CROSSING, pod={"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-GB200"}}),
    "accelerators of Ascend": Kind(
        TWO, "", NATIVE, "quay.io/ascend/vllm-ascend:v0.18.0rc1", engine=on({"huawei.com/Ascend910B4": "8"})
    ),
    "too few accelerators of Cambricon": Kind(
        TWO.replace("size 2", "size 4"), "FI316", engine=on({"cambricon.com/mlu590": "8"})
    ),
    "claimed devices": Kind(TWO, "", NATIVE, engine=claiming({}), pod=CLAIMS),
    "claimed devices, local ranks": Kind(EP, "", OLDER, engine=claiming({}), pod=CLAIMS),
    "claimed devices, Ray": Kind(
        *(f"{TWO} --distributed-executor-backend ray", "", "ray start; !--num-gpus", "corp/llm:1"),
        engine=claiming({}),
        pod=CLAIMS,
    ),
    "claimed devices of SGLang": SGLANG(SG, engine=claiming({}), pod=CLAIMS),
    "claimed devices of the leader alone": Kind(
        TWO, "FI303", leader=TWO, leading=claiming({}), engine=on({}), pod=CLAIMS
    ),
    "a claim beside accelerators": Kind(
        TWO, "", NATIVE, engine=claiming({"nvidia.com/gpu": "8"}), pod=CLAIMS
    ),
    "a channel of a ComputeDomain": Kind(
        CROSSING, pod={"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "imex-channel-0"}]}
    ),
    "a claim that the pod lacks": Kind(TWO, "FI338", NATIVE, engine=claiming({})),
    "devices of a class as a resource": Kind(
        TWO, "FI537", NATIVE, engine=on({"deviceclass.resource.kubernetes.io/gpu.nvidia.com": "8"})
    ),
    "no accelerators": Kind(f"{S} {NIXL}", "FI538", size=1, notes=DECODER, engine=on({})),
    "no accelerators, by hand": Kind(HAND, "FI538", engine=on({}), mended="FI303"),
    "no accelerators of the head of Ray": Kind(
        f"bash -c '{RAY} worker --ray_address=$(LWS_LEADER_ADDRESS)'",
        image=f"{V}0.16.0",
        leader=f"bash -c '{RAY} leader; {TWO} --distributed-executor-backend ray'",
        leading=on({}),
        mended="FI303",
    ),
    "a connector with a protocol of its own": Kind(
        f"{TWO} {NIXL.replace('Nixl', 'Mooncake')}", "", f"{MOVED}mooncake", notes=DECODER
    ),
    "a decoder by hand": Kind(
        f"{CROSSING} {NODES} {NIXL}", "", f"{MOVED}nixlv2; !^worker: .*8200", notes=DECODER, mended="FI502"
    ),
    "a decoder with a server a pod": Kind(
        *(
            f"{HYBRID} {NIXL}",
            "",
            f"{ALL}.* shared$; {MOVED}nixlv2; ^sidecar of worker: .*=nixlv2",
            f"{V}0.30.0",
        ),
        notes=DECODER,
    ),
    "a decoder with a server a rank": Kind(
        f"{PORTS} --data-parallel-supervisor-port 8203 {NIXL}",
        *("", "^sidecar of worker: .*--vllm-port=8204 .*--data-parallel-size=8", f"{V}0.30.0"),
        leader=f"{PORTS} --data-parallel-supervisor-port 8203 {NIXL}",
        notes=DECODER,
    ),
    "a side that the nested connector names": Kind(
        f"{S} --tensor-parallel-size 8 {NESTED}", image=f"{V}0.30.0", size=1, notes=DECODER
    ),
}

# --- forms: of command lines ------------------------------------------------------------------------

SHORT: Final = {
    "data-parallel-size": "-dp",
    "data-parallel-size-local": "-dpl",
    "data-parallel-start-rank": "-dpr",
    "data-parallel-hybrid-lb": "-dph",
    "data-parallel-external-lb": "-dpe",
    "data-parallel-multi-port-external-lb": "-dpm",
    "tensor-parallel-size": "-tp",
    "pipeline-parallel-size": "-pp",
    "nnodes": "-n",
    "node-rank": "-r",
    "tp": "--tensor-parallel-size",
}
_FLAG: Final = re.compile(r"(?<= )--([a-z-]+)(?: (?!-)('[^']*'|\"[^\"]*\"|[^\s;']+))?")


def short(line: str) -> str:
    """Write the short names of flags; SGLang has other ones."""
    return re.sub(r"(?<= )--([a-z-]+)(?= |$|')", lambda found: SHORT.get(found[1], found[0]), line)


def joined(line: str) -> str:
    """Write `--name_of_flag=VALUE`; SGLang reads no underscores."""

    def flag(found: re.Match[str]) -> str:
        name = found[1] if "sglang" in line else found[1].replace("-", "_")
        return f"--{name}={found[2]}" if found[2] else found[0]

    return _FLAG.sub(flag, line)


def cli(line: str) -> str:
    """Start vLLM by the module of its command, and SGLang by its command."""
    by_module = line.replace("vllm serve", "python3 -m vllm.entrypoints.cli.main serve")
    return by_module.replace("python3 -m sglang.launch_server", "sglang serve")


def module(line: str) -> str:
    """Start vLLM by the module of its API server."""
    return line.replace(S, "python3 -m vllm.entrypoints.openai.api_server --model org/M")


def shell(line: str) -> str:
    """Start the engine in a script, with variables of the shell."""
    words = re.sub(r"[$][(](LWS_\w+)[)]", r"$\1", line)
    return f"sh -c {shlex.quote(f'set -e; export A=b; exec {words}')}"


# --- forms: of objects ------------------------------------------------------------------------------


def plain(kind: Kind, form: Callable[[str], str] = str) -> list[Object]:
    """Return the LeaderWorkerSet of a kind; beside a decoder, its prefiller."""

    def pods(line: str, engine: Mapping[str, Any]) -> Object:
        words = shlex.split(form(line))
        return template(container(command=words, args=None, image=kind.image, **engine), **kind.pod)

    leader = pods(kind.leader, kind.leading) if kind.leader else None
    one = lws(kind.size, pods(kind.line, kind.engine), leader, **kind.notes)
    return [one, prefiller(one)] if "component_type" in kind.notes else [one]


def prefiller(decoder: Object) -> Object:
    """Return the prefiller beside a decoder."""
    text = re.sub(
        r"\bdecode(r?)\b", lambda found: "prefiller" if found[1] else "prefill", json.dumps(decoder)
    )
    other: Object = json.loads(text.replace("kv_consumer", "kv_producer"))
    return changed(other, "metadata.name", "y")


def args(kind: Kind) -> list[Object]:
    """Leave the program to the entrypoint of the image."""
    text, started = json.dumps(plain(kind)), '"command": ["vllm", "serve", "org/M"'
    is_own = kind.image.startswith(V[:-1])
    made: list[Object] = json.loads(text.replace(started, '"args": ["--model", "org/M"') if is_own else text)
    return made


def service(kind: Kind) -> list[Object]:
    """Write the templates into roles of an InferenceService."""
    strategy = kind.notes.get("strategy")
    return [isvc(*([router(strategy=strategy)] if strategy else []), *map(role_of, plain(kind)))]


def role_of(one: Object) -> Object:
    """Return the role that has the templates and annotations of a LeaderWorkerSet."""
    group, notes = one["spec"]["leaderWorkerTemplate"], one["metadata"]["annotations"]
    own = {key: text for key, text in notes.items() if key == f"{PREFIX}launcher"}
    worker = group["workerTemplate"]
    return role(
        notes.get(f"{PREFIX}component-type", "worker"),
        name=one["metadata"]["name"],
        multinode={"nodeCount": group["size"]},
        template={**group.get("leaderTemplate", worker), "metadata": {"annotations": own}},
        worker=worker if "leaderTemplate" in group else None,
    )


def disaggregated(kind: Kind) -> list[Object]:
    """Write the group as a role of a DisaggregatedSet."""
    other = lws(1, template(container("other", resources=None)))
    roles = [
        {"name": f"r{at}", "metadata": changed(one, "metadata.name", None)["metadata"], "spec": one["spec"]}
        for at, one in enumerate(plain(kind))
    ]
    roles += [{"name": "other", "spec": other["spec"]}][: 2 - len(roles)]
    named = {"apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": "DisaggregatedSet"}
    return [{**named, "metadata": {"name": "svc"}, "spec": {"roles": roles}}]


def imported(kind: Kind) -> list[Object]:
    """Take the annotations away, and import what is left; then write again which part it is."""
    found = []
    for one in plain(kind):
        notes = one["metadata"].pop("annotations")
        (made,) = import_all([one]).objects
        own = notes | made["metadata"]["annotations"] | {f"{PREFIX}service": "svc"}
        found.append(changed(made, "metadata.annotations", own))
    return found


LINES: Final = {of.__name__: partial(plain, form=of) for of in (short, joined, cli, module, shell)}
OBJECTS: Final = {of.__name__: of for of in (args, service, disaggregated, imported)}
FORMS: Final[Mapping[str, Callable[[Kind], list[Object]]]] = {"plain": plain, **LINES, **OBJECTS}


def relatives(kind: Kind) -> Iterator[tuple[str, list[Object]]]:
    """Yield a kind in each form that can carry it, with the name of the form."""
    distinct = {json.dumps(made): (form, made) for form, of in [*FORMS.items()][::-1] if (made := of(kind))}
    assert len(distinct) > 5
    yield from distinct.values()


def facts(objects: tuple[Object, ...], component: str) -> Iterator[str]:
    """Yield what serves, and what the pods of a component type run, as lines of text."""
    for one in objects:
        notes = one["metadata"].get("annotations", {})
        if one["kind"] == "InferencePool":
            yield f"pool: {' '.join(str(port['number']) for port in one['spec']['targetPorts'])}"
        is_of_other = notes.get(f"{PREFIX}component-type", "worker") != component
        if one["kind"] != "LeaderWorkerSet" or is_of_other or f"{PREFIX}expansion" not in notes:
            continue
        serving, group = recorded(notes[f"{PREFIX}expansion"]).serving, one["spec"]["leaderWorkerTemplate"]
        who = "all pods" if serving.everywhere else "leaders"
        ports, form = " ".join(map(str, serving.ports)), "split" if "leaderTemplate" in group else "shared"
        yield f"serving: {who} {ports}, {serving.supervisor}, {form}"
        for part in ("leader", "worker"):
            spec = group.get(f"{part}Template", group["workerTemplate"])["spec"]
            engine, *_ = spec["containers"]
            ran = " ".join([*engine.get("command", []), *engine.get("args", [])]).replace("\n", " ")
            yield f"{part}: {ran}"
            yield f"probes of {part}: {json.dumps({key: engine[key] for key in engine if 'Probe' in key})}"
            for each in spec.get("initContainers", []):
                if each["name"] == "routing-proxy":
                    yield f"sidecar of {part}: {' '.join(each['args'])}"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_right_in_every_form(kind: Kind) -> None:
    for form, written in relatives(kind):
        documents = [Document("f", at, one) for at, one in enumerate((*written, *kind.beside), 1)]

        made = compose(documents, Settings())

        found = [one.error for one in made.found]
        codes = kind.codes if form != "imported" or kind.mended is None else kind.mended
        assert {one.code for one in found} == set(codes.split()), [form, *map(str, found)]
        said = [f"{one.code}: {one.message}" for one in found]
        text = "\n".join((*facts(made.objects, kind.notes.get("component_type", "worker")), *said))
        for pattern in filter(None, kind.says.split("; ")):
            is_found = re.search(pattern.removeprefix("!"), text, re.MULTILINE) is not None
            assert is_found is not pattern.startswith("!"), f"{form}: {pattern}\n{text}"
