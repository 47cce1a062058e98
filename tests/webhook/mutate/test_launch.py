"""The written launch: command and args; probes, and the split of a shared template.

Scripts, prefixes and what stays are in laws and golden cases.
"""

from dataclasses import replace
from itertools import permutations
from typing import Any, Final

import pytest

from intent import Object
from intent.lws import Accelerators, Intent, Probe
from tests.builders.lws import changed, container, lws, put, template
from tests.laws.strategies import TOOLS
from tests.webhook.launches import EXECUTOR, SETTINGS, SYMMETRIC_RUN, codes, engine, group, written
from tests.webhook.overlays import overlay
from webhook.check import check
from webhook.mutate import input_of
from webhook.mutate.launch import LAUNCH, PROBES, SPLIT, STARTUP, launch
from webhook.validate.service import probes as validate

CLI = "python3 -m vllm.entrypoints.cli.main"
MODULE = "python3 -m vllm.entrypoints.openai.api_server"
OLD = "vllm/vllm-openai:v0.11.0"
HEALTH: Final = {"httpGet": {"path": "/health", "port": 8000}}
READY: Final = Probe("readinessProbe", "httpGet", 8000)
FINE: Final = "M -tp 8 -pp 2"
HYBRID: Final = {"args": ["M", "-dp", "16", "--data-parallel-hybrid-lb"], "image": "vllm/vllm-openai:v0.30.0"}
GROUP: Final = "spec.leaderWorkerTemplate"
SGLANG: Final = "python3 -m sglang.launch_server --model-path M --tp 16"


@pytest.mark.parametrize(
    ("command", "args", "served"),
    [
        ("", "--model M -tp 16", "vllm serve M -tp 16"),
        ("", "-tp=16 --model=M --seed 1 $(MORE)", "vllm serve M -tp=16 --seed 1 $(MORE)"),
        ("", "--model A -tp 16 --model B", "vllm serve B -tp 16"),
        ("", "M --tensor_parallel_size 16", "vllm serve M --tensor_parallel_size 16"),
        ("", "M -tp 16 --model N", "vllm serve M -tp 16"),
        ("", "-tp 16 M", "vllm serve -tp 16 M"),
        ("", "--config c.yaml", "vllm serve --config c.yaml"),
        ("", "vllm serve M", "vllm serve M"),
        ("", "serve M -tp 16", "vllm serve M -tp 16"),
        ("vllm serve", "--model M -tp 16", "vllm serve --model M -tp 16"),
        ("/opt/bin/vllm", "serve M", "/opt/bin/vllm serve M"),
        (MODULE, "--port 80 --model M", "vllm serve M --port 80"),
        (f"{CLI} serve", "M -tp 16", f"{CLI} serve M -tp 16"),
    ],
)
def test_ray_runs_the_engine_with_the_authors_arguments(command: str, args: str, served: str) -> None:
    container = written(group(engine(args, command)))

    assert container["command"] == ["ray"]
    assert container["args"] == [*SYMMETRIC_RUN, *served.split(), *EXECUTOR]


@pytest.mark.parametrize("args", ["--model N M", "M --model N"])
def test_the_old_entrypoint_reads_the_model_from_its_flag(args: str) -> None:
    container = written(group(engine(args, image=OLD), launcher="ray-symmetric"))

    assert container["args"] == [*SYMMETRIC_RUN, "vllm", "serve", "N"]


@pytest.mark.parametrize(
    ("accelerators", "count"),
    [
        (Accelerators("nvidia.com/gpu", 4), ["--num-gpus", "4"]),
        (Accelerators("amd.com/gpu", 8), ["--num-gpus", "8"]),
        (Accelerators("gpu.intel.com/xe", 2), ["--num-gpus", "2"]),
        (Accelerators("google.com/tpu", 4), []),
        (Accelerators("habana.ai/gaudi", 8), []),
        (Accelerators("nvidia.com/mig-1g.5gb", 1), []),
        (Accelerators(claimed=True), []),
        (Accelerators(), []),
    ],
)
def test_ray_gets_the_number_of_gpus_if_it_counts_them(accelerators: Accelerators, count: list[str]) -> None:
    container = written(group(engine("M", accelerators=accelerators)))

    assert container["args"] == [*SYMMETRIC_RUN[:5], *count, "--", "vllm", "serve", "M", *EXECUTOR]


def test_each_template_has_its_own_number_of_gpus() -> None:
    intent = group(engine("M"), leader=engine("M", accelerators=Accelerators("nvidia.com/gpu", 4)), size=3)

    leader = written(intent, "leaderTemplate")

    served = ["3", "--num-gpus", "4", "--", "vllm", "serve", "M"]
    assert leader["args"] == [*SYMMETRIC_RUN[:4], *served, *EXECUTOR]


def test_a_template_that_stays_keeps_the_other_one_too() -> None:
    intent = group(engine("ray start --block"), leader=engine("M"))

    assert launch(input_of(intent, SETTINGS)) == {}


@pytest.mark.parametrize("stray", [["", "-tp", "16"], ["-tp", "16", ""], ["-tp", "16", "--", "x"]])
@pytest.mark.parametrize("command", ["", MODULE])
def test_an_empty_argument_or_one_after_two_dashes_is_never_the_model(command: str, stray: list[str]) -> None:
    one = group(engine(["--model", "M", *stray], command))
    ends = stray.index("--") if "--" in stray else len(stray)

    container = written(one)

    served = ["vllm", "serve", "M", *stray[:ends], *EXECUTOR, *stray[ends:]]
    assert container["args"] == [*SYMMETRIC_RUN, *served]
    assert [code for code in codes(one) if code in {"FI306", "FI515", "FI536"}] == ["FI536"]


def test_an_empty_argument_alone_names_no_model() -> None:
    assert "FI306" in codes(group(engine(["", "-tp", "16"])))


# --- probes: the leader's, the workers', and the split of a shared template ------------------------------


def containers(expanded: Object) -> tuple[Object, Object]:
    """Return the engine containers of leader and workers."""
    found = expanded["spec"]["leaderWorkerTemplate"]
    leader, worker = (found[field]["spec"]["containers"][0] for field in ("leaderTemplate", "workerTemplate"))
    return leader, worker


def probed(**fields: Any) -> Object:
    """Expand a group of one template with probes."""
    return put(lws(worker=template(container(**fields))))


def test_other_containers_are_copied_to_the_leader() -> None:
    worker = template(container(readinessProbe=HEALTH), container("proxy", args=["a"], resources=None))

    leader = put(lws(worker=worker))["spec"]["leaderWorkerTemplate"]["leaderTemplate"]

    assert leader["spec"]["containers"][1] == worker["spec"]["containers"][1]


def test_the_authors_variable_is_copied_to_the_leader() -> None:
    own = {"name": "VLLM_HOST_IP", "value": "10.0.0.1"}

    leader, _ = containers(probed(readinessProbe=HEALTH, env=[own]))

    assert [item for item in leader["env"] if item["name"] == "VLLM_HOST_IP"] == [own]


def test_a_hook_that_runs_a_command_splits_nothing() -> None:
    expanded = probed(lifecycle={"preStop": {"exec": {"command": ["sleep", "5"]}}})

    assert "leaderTemplate" not in expanded["spec"]["leaderWorkerTemplate"]


@pytest.mark.parametrize(
    ("args", "port"),
    [
        ("M", 8000),
        ("M --port 8080", 8080),
        ("M --port=$(PORT)", "http"),
        ("M --config c.yaml", "http"),
        ("M --config c.yaml --port 9", 9),
    ],
)
def test_the_startup_probe_calls_the_port_of_the_api(args: str, port: int | str) -> None:
    one = engine(args, probes=(Probe("livenessProbe", "httpGet", "http"),))

    overlay = probes_of(group(one))

    assert overlay["startupProbe"]["httpGet"] == {"path": "/health", "port": port}


KEEPS = replace(LAUNCH, mutate=lambda _given: {})
"""A launch that writes nothing, so that only probes are in the overlay."""


def probes_of(intent: Intent) -> Object:
    """Return the overlay for the engine container of the leader; empty if there is none."""
    made = overlay(intent, SETTINGS, (SPLIT, KEEPS, STARTUP, PROBES))
    templates = made.get("spec", {}).get("leaderWorkerTemplate", {})
    spec = templates.get("leaderTemplate", {}).get("spec", {"containers": [{}]})
    found: Object = spec["containers"][0]
    return found


def test_the_startup_probe_uses_tls_if_the_api_does() -> None:
    overlay = probes_of(group(engine("M --ssl-certfile /tls.crt", probes=(READY,))))

    assert overlay["startupProbe"]["httpGet"]["scheme"] == "HTTPS"


@pytest.mark.parametrize(
    "probes", [(), (READY, Probe("startupProbe", "httpGet", 8000))], ids=["nothing is probed", "there is one"]
)
def test_no_startup_probe_is_injected_without_need(probes: tuple[Probe, ...]) -> None:
    assert "startupProbe" not in probes_of(group(engine("M", probes=probes)))


def test_an_unknown_port_is_not_guessed() -> None:
    assert probes_of(group(engine("M --port $(P)", probes=(Probe("livenessProbe", "exec"),)))) == {}


def test_a_separate_worker_template_keeps_its_probes() -> None:
    _, worker = containers(put(lws(worker=template(container(readinessProbe=HEALTH)), leader=template())))

    assert worker["readinessProbe"] == HEALTH


@pytest.mark.parametrize(
    ("path", "splits"),
    [("/ping", False), ("/health", False), ("/health_generate", False), ("/v1/models", True), ("", True)],
)
def test_nodes_of_sglang_keep_the_probes_that_they_answer(path: str, *, splits: bool) -> None:
    intent = group(
        engine(command=SGLANG, image="lmsysorg/sglang:v0.5.5", probes=(replace(READY, path=path),))
    )

    given = input_of(intent, SETTINGS)

    assert (len(given.layout.templates) == 2) is splits
    assert ("readinessProbe" in str(PROBES.mutate(given))) is splits


@pytest.mark.parametrize("has_leader", [False, True])
@pytest.mark.parametrize("started", ["/health", "/ping", "/v1/models", None])
@pytest.mark.parametrize("alive", ["/health", "/v1/models"])
def test_a_node_of_sglang_has_no_probe_while_it_loads(
    started: str | None, alive: str, *, has_leader: bool
) -> None:
    paths = {"startupProbe": started, "livenessProbe": alive}
    probes: dict[str, Any] = {
        field: {"httpGet": {"path": path, "port": 30000}} for field, path in paths.items() if path is not None
    }
    pod = template(container(image="lmsysorg/sglang:v0.5.9", command=SGLANG.split(), args=None, **probes))

    found = put(lws(worker=pod, leader=pod if has_leader else None))["spec"]["leaderWorkerTemplate"]

    worker = found["workerTemplate"]["spec"]["containers"][0]
    left = {field: worker[field]["httpGet"]["path"] for field in worker if field.endswith("Probe")}
    assert set(left.values()) <= {"/health", "/ping"}
    assert not left or "startupProbe" in left


SUPERVISED: Final = "vllm serve M -dp 16 --data-parallel-multi-port-external-lb"


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("paths", [*permutations(("/health", "/v1/models", "/ping", ""), 2)])
@pytest.mark.parametrize(
    ("image", "command"),
    [
        ("lmsysorg/sglang:v0.5.9", SGLANG),
        ("vllm/vllm-openai:v0.32.0", SUPERVISED),
        ("vllm/vllm-openai:v0.32.0", "vllm serve M -tp 8 -pp 2"),
    ],
)
def test_an_edited_path_gives_the_pods_that_a_new_object_has(
    image: str, command: str, paths: tuple[str, str], tool: str
) -> None:
    def of(path: str) -> Object:
        probe = {"httpGet": {"path": path, "port": 30000 if "sglang" in image else 8000}}
        return lws(
            worker=template(container(image=image, command=command.split(), args=None, livenessProbe=probe))
        )

    stored, file = put(of(paths[0])), of(paths[1])

    edited, again = (put(TOOLS[tool](stored, one), stored) for one in (file, of(paths[0])))

    assert (edited["spec"], again["spec"]) == (put(file)["spec"], stored["spec"])


def test_an_edited_leader_keeps_its_edits_and_its_launch() -> None:
    once = probed(readinessProbe=HEALTH)
    edited = changed(once, f"{GROUP}.leaderTemplate.spec.containers.0.image", "vllm/vllm-openai:v0.17.2")

    again = put(edited, once)

    leader, worker = containers(again)
    assert leader == containers(edited)[0]
    assert worker == containers(edited)[1]
    assert put(again, again) == again


def test_removing_the_annotations_keeps_an_edited_leader_without_injected_fields() -> None:
    own = lws(worker=template(container(readinessProbe=HEALTH)))
    once = put(own)
    edited = changed(once, f"{GROUP}.leaderTemplate.spec.hostname", "x")
    left = changed(edited, "metadata.annotations.fusioninfer.io/service".replace(".io/", "~io/"), None)

    after = put(left, once)["spec"]["leaderWorkerTemplate"]

    expected = own["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    assert after["workerTemplate"] == expected
    assert after["leaderTemplate"]["spec"] == expected["spec"] | {"hostname": "x"}


# --- warnings about probes ------------------------------------------------------------------------------


def messages(intent: Intent) -> list[str]:
    """Return the messages about the probes of a group."""
    return [found.message for found in validate(input_of(intent, SETTINGS))]


@pytest.mark.parametrize(
    ("probe", "leader", "worker"),
    [
        (Probe("readinessProbe", "httpGet", 8000), 0, 1),
        (Probe("readinessProbe", "exec"), 0, 0),
        (Probe("readinessProbe", "tcpSocket", 6379), 1, 1),
        (Probe("livenessProbe", "httpGet", "http"), 0, 1),
        (Probe("startupProbe", "httpGet", 8000), 0, 1),
    ],
)
def test_a_probe_that_does_not_fit_is_a_warning(probe: Probe, leader: int, worker: int) -> None:
    one, plain = engine(FINE, probes=(probe,)), engine(FINE)

    found = len(messages(group(plain, leader=one))), len(messages(group(one, leader=plain)))

    assert found == (leader, worker)


def test_nothing_leads_a_probe_of_a_launch_by_hand_to_the_supervisor() -> None:
    words = f"{SUPERVISED} -dpl 8 --data-parallel-address $(LWS_LEADER_ADDRESS)".split()
    hand = container(image="vllm/vllm-openai:v0.32.0", command=words, args=None, livenessProbe=HEALTH)

    said = check(lws(worker=template(hand), launcher="none"), mutated=False)
    assert ["port 9256" in one.message for one in said if one.code == "FI505"] == [True]


def test_a_liveness_probe_that_runs_while_the_model_loads_is_a_warning() -> None:
    one = engine("M --port $(P)", probes=(Probe("livenessProbe", "exec"),))

    (message,) = messages(group(one))

    assert "startupProbe" in message


@pytest.mark.parametrize(
    ("leader", "worker", "notes", "found"),
    [
        ({}, None, {"strategy": "prefix-cache"}, "workerTemplate 8000"),
        ({"args": ["M", "--port", "9000"]}, None, {"endpoint_picker_config": "x"}, "workerTemplate 9000"),
        ({}, None, {"launcher": "none", "strategy": "prefix-cache"}, "workerTemplate 8000"),
        ({}, None, {"strategy": "pd-disaggregation", "component_type": "decoder"}, "workerTemplate 8000"),
        (
            {"command": ["sh", "-c", "cd /; vllm serve M"], "args": None},
            None,
            {"strategy": "prefix-cache"},
            "workerTemplate 8000",
        ),
        ({}, {"readinessProbe": HEALTH}, {"strategy": "prefix-cache"}, "leaderTemplate 8000"),
        ({"readinessProbe": HEALTH}, {}, {"strategy": "prefix-cache"}, ""),
        ({"readinessProbe": HEALTH, **HYBRID}, HYBRID, {"strategy": "prefix-cache"}, "workerTemplate 8000"),
        ({"command": ["serve-it"], "image": "corp/llm:1"}, None, {"strategy": "prefix-cache"}, ""),
        ({}, None, {"strategy": "prefix-cache", "component_type": "encoder"}, ""),
        ({}, None, {}, ""),
    ],
)
def test_a_template_that_serves_behind_routes_needs_a_readiness_probe(
    leader: Object, worker: Object | None, notes: dict[str, str], found: str
) -> None:
    pods = [template(container(**one)) for one in (leader, worker) if one is not None]
    live = lws(2, pods[-1], leader=pods[0] if worker is not None else None, **notes)

    said = [one for one in check(live, mutated=False) if one.code == "FI571"]
    assert [f"{one.path.split('.')[2]} {one.message.rpartition(': ')[2].strip('}')}" for one in said] == (
        [found] if found else []
    )
