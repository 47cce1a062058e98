"""The block `parallelism`: flags by engine and release, accelerators, and the size of the group."""

from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.flags import flag_tables
from intent import Object
from intent.errors import FieldError
from intent.parallelism import Parallelism, fault, read_parallelism
from intent.settings import Settings
from tests.builders.lws import WORKER, changed, container, engine_of, lws, put, template
from tests.webhook.launches import engine, group
from webhook.blocks import filled
from webhook.blocks.parallelism import PARALLELISM
from webhook.check import check
from webhook.expand import expand, expanded

VLLM: Final = "vllm/vllm-openai:v"
SGLANG: Final = "lmsysorg/sglang:v"
SERVE: Final[Object] = {"command": ["vllm", "serve"], "args": ["org/M"]}
LAUNCH: Final[Object] = {
    "command": ["python3", "-m", "sglang.launch_server"],
    "args": ["--model-path", "org/M", "--host", "0.0.0.0"],  # noqa: S104 - an argument
}
KEY: Final = "metadata.annotations.fusioninfer.io/parallelism"
LIMITS: Final = f"{WORKER}.spec.containers.0.resources.limits"
PLAIN: Final[Object] = {"requests": {"cpu": "1", "memory": "1Gi"}}


# --- the value ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("tensor=8", Parallelism(8)),
        (" tensor = 8 , pipeline=2", Parallelism(8, 2)),
        ("data=16,dataLocal=8,expert", Parallelism(data=16, data_local=8, expert=True)),
        ("expert=true", Parallelism(expert=True)),
        ("expert=false,tensor=2", Parallelism(2)),
        ("dataRPCPort=6000,data=2", Parallelism(data=2, rpc_port=6000)),
    ],
)
def test_a_value_is_read(text: str, sizes: Parallelism) -> None:
    assert fault(text) == ""
    assert read_parallelism(text) == sizes


FAULTS: Final = (
    *("", " ", ",", "tensor", "tensor=", "tensor=-1", "tensor=1.5", "tensor=\u0668", "tensor=1,", "Tensor=1"),
    *(
        "expert=1",
        "dataRPCPort=65536",
        "tensor=99999999",
        "x" * 300,
        "tensor=1,tensor=1",
        "data=3,dataLocal=2",
    ),
)


@pytest.mark.parametrize("text", FAULTS)
def test_a_faulty_value_says_why(text: str) -> None:
    assert fault(text)


# --- the flags ----------------------------------------------------------------------------------------


def added(image: str, value: str, size: int = 1) -> list[str]:
    """Return the arguments that are added to a plain command."""
    plain = LAUNCH if "sglang" in image else SERVE
    intent = replace(
        group(engine(plain["args"], plain["command"], image), size=size), parallelism=read_parallelism(value)
    )
    found = filled(intent, Settings(), [PARALLELISM])
    assert [one for one in found.findings if one.severity == "error"] == []
    made = found.intent.templates[0].engine
    assert made is not None
    return list(made.args[len(plain["args"]) :])


@pytest.mark.parametrize(
    ("image", "value", "flags"),
    [
        (f"{VLLM}0.20.2", "tensor=8", "--tensor-parallel-size 8"),
        (f"{VLLM}0.20.2", "tensor=1", "--tensor-parallel-size 1"),
        (f"{VLLM}0.20.2", "pipeline=2", "--pipeline-parallel-size 2"),
        (f"{VLLM}0.20.2", "expert", "--enable-expert-parallel"),
        (f"{VLLM}0.20.2", "expert=false,tensor=1", "--tensor-parallel-size 1"),
        (f"{VLLM}0.20.2", "data=2,dataLocal=2", "--data-parallel-size 2 --data-parallel-size-local 2"),
        (f"{VLLM}0.20.2", "data=2,dataRPCPort=99", "--data-parallel-size 2 --data-parallel-rpc-port 99"),
        (f"{SGLANG}0.5.9", "tensor=8,pipeline=2,data=2", "--tp-size 8 --pp-size 2 --dp-size 2"),
        (f"{SGLANG}0.5.9", "tensor=8,expert", "--tp-size 8 --ep-size 8"),
        (f"{SGLANG}0.4.6", "tensor=8,expert", "--tp-size 8 --enable-ep-moe"),
        (f"{SGLANG}0.5.9", "data=2,dataLocal=2", "--dp-size 2"),
    ],
)
def test_each_kind_has_the_engines_flag(image: str, value: str, flags: str) -> None:
    assert added(image, value) == flags.split()


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_each_release_has_the_flags_that_are_added_for_it(engine: str) -> None:
    """The facts are those of the releases themselves (`hack.engine_flags`)."""
    table, image = flag_tables()[engine], VLLM if engine == "vllm" else SGLANG
    asked = [
        "tensor=2",
        "pipeline=2",
        "data=2",
        "data=2,dataLocal=2",
        "tensor=2,expert",
        "data=2,dataRPCPort=9",
    ]
    found = 0
    for release in table.releases:
        for value in asked:
            live = file(f"{image}{'.'.join(map(str, release))}", 1, value)
            made = [word for word in engine_of(expanded(live))["args"] if word.startswith("--")]
            flags = [word for word in made if word not in LAUNCH["args"]]
            codes_of = codes(live)
            assert flags or "FI116" in codes_of, (release, value)
            has_all = all(table.spans[flag][0] <= release <= table.spans[flag][1] for flag in flags)
            assert has_all is ("FI333" not in codes_of), (release, value)
            found += len(flags)
    assert found > 30


def file(image: str, size: int, value: str, resources: Object | None = None, *more: str) -> Object:
    """Return an object whose engine has a plain command."""
    plain = LAUNCH if "sglang" in image else SERVE
    wanted = {"limits": {"nvidia.com/gpu": "8"}, **PLAIN} if resources is None else resources
    fields = plain | {"args": [*plain["args"], *more]}
    return lws(size, template(container(image=image, resources=wanted, **fields)), None, parallelism=value)


def errors(live: Object) -> list[FieldError]:
    return [one for one in check(live, mutated=False) if one.severity == "error"]


def codes(live: Object) -> list[str]:
    return [one.code for one in errors(live)]


# --- data and expert parallelism over several nodes ---------------------------------------------------

DEEPSEEK: Final = "tensor=1,data=16,dataLocal=8,expert"


def starts(live: Object, field: str) -> str:
    one = engine_of(live, field)
    return " ".join([*one["command"], *one["args"]])


def test_workers_of_a_data_parallel_engine_start_no_api_servers_and_have_no_probes() -> None:
    live = file(f"{VLLM}0.20.2", 2, DEEPSEEK, None, "--api-server-count", "8")
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    made = put(changed(live, f"{WORKER}.spec.containers.0.readinessProbe", probe))

    assert "--api-server-count 8" in starts(made, "leaderTemplate")
    assert "--api-server-count" not in starts(made, "workerTemplate")
    assert "readinessProbe" not in engine_of(made)
    assert engine_of(made, "leaderTemplate")["readinessProbe"] == probe


@pytest.mark.parametrize(
    ("size", "value", "fits"),
    [
        (1, "data=16,dataLocal=8", 2),
        (4, "data=16,dataLocal=8", 2),
        (3, "data=4,dataLocal=1", 4),
        (1, "data=2,dataLocal=1,tensor=8", 2),
    ],
)
@pytest.mark.parametrize("image", [f"{VLLM}0.20.2", f"{VLLM}0.10.2", f"{SGLANG}0.5.9"])
def test_a_size_that_does_not_fit_the_ranks_names_one_that_does(
    image: str, size: int, value: str, fits: int
) -> None:
    found = [one for one in errors(file(image, size, value)) if "dataLocal" in one.message]

    assert [one.code for one in found] == ["FI316"]
    assert found[0].path == "metadata.annotations[fusioninfer.io/parallelism]"
    assert found[0].message.endswith(f"set spec.leaderWorkerTemplate.size to {fits}")
    if image.startswith(VLLM):
        assert codes(file(image, fits, value)) == []


def test_a_rank_may_span_several_pods() -> None:
    assert codes(file(f"{VLLM}0.20.2", 4, "tensor=8,pipeline=2,data=2,dataLocal=1")) == []


# --- accelerators -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "size", "value", "count"),
    [
        (f"{VLLM}0.20.2", 1, "tensor=4", "4"),
        (f"{VLLM}0.20.2", 2, "tensor=8,pipeline=2", "8"),
        (f"{VLLM}0.20.2", 2, "tensor=1,data=16,dataLocal=8", "8"),
        (f"{VLLM}0.20.2", 1, "pipeline=2", "2"),
        (f"{SGLANG}0.5.9", 1, "tensor=2,data=4", "8"),
        (f"{SGLANG}0.5.9", 2, "tensor=16", "8"),
    ],
)
def test_each_pod_requests_its_share_if_it_has_none(image: str, size: int, value: str, count: str) -> None:
    made = put(file(image, size, value, PLAIN))

    assert engine_of(made)["resources"] == PLAIN | {"limits": {"nvidia.com/gpu": count}}
    assert codes(file(image, size, value, PLAIN)) == []


def test_ranks_that_share_the_tensor_parallel_group_request_nothing_of_their_own() -> None:
    made = put(file(f"{SGLANG}0.5.9", 2, "tensor=16,data=4", PLAIN, "--enable-dp-attention"))

    assert engine_of(made)["resources"]["limits"] == {"nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    "resources",
    [
        {**PLAIN, "limits": {"nvidia.com/gpu": "4"}},
        {**PLAIN, "limits": {"amd.com/gpu": "4"}},
        {**PLAIN, "limits": {"vendor.example/npu": "4"}},
        {**PLAIN, "claims": [{"name": "gpu"}]},
        {"requests": {**PLAIN["requests"], "google.com/tpu": "4"}},
    ],
)
def test_a_request_of_the_authors_stays(resources: Object) -> None:
    assert engine_of(put(file(f"{VLLM}0.20.2", 1, "tensor=4", resources)))["resources"] == resources


def test_an_engine_on_cpu_requests_no_accelerator() -> None:
    live = file(f"{VLLM}0.20.2", 1, "tensor=4", PLAIN)
    live = changed(live, f"{WORKER}.spec.containers.0.env", [{"name": "VLLM_TARGET_DEVICE", "value": "cpu"}])

    assert engine_of(put(live))["resources"] == PLAIN


@pytest.mark.parametrize(("resource", "limits"), [("amd.com/gpu", {"amd.com/gpu": "4"}), ("", None)])
def test_the_operator_names_the_resource(resource: str, limits: Any) -> None:
    made = expanded(file(f"{VLLM}0.20.2", 1, "tensor=4", PLAIN), Settings(accelerator=resource))

    assert engine_of(made)["resources"].get("limits") == limits


def test_other_limits_of_the_authors_stay() -> None:
    limits = {"memory": "8Gi"}
    made = put(file(f"{VLLM}0.20.2", 1, "tensor=4", {"limits": limits}))

    assert engine_of(made)["resources"]["limits"] == limits | {"nvidia.com/gpu": "4"}


@pytest.mark.parametrize("size", [1, 2])
def test_a_removed_annotation_removes_the_request(size: int) -> None:
    live = file(f"{VLLM}0.20.2", size, "tensor=8", PLAIN)
    stored = put(live)

    assert put(changed(stored, KEY, None), stored)["spec"] == put(changed(live, KEY, None))["spec"]


@pytest.mark.parametrize("size", [1, 2])
def test_a_request_that_is_edited_by_hand_is_the_authors(size: int) -> None:
    stored = put(file(f"{VLLM}0.20.2", size, "tensor=8", PLAIN))
    edited = changed(stored, LIMITS, {"nvidia.com/gpu": "2"})

    again = put(edited, stored)

    assert engine_of(again)["resources"]["limits"] == {"nvidia.com/gpu": "2"}
    assert expand(again, stored) == []
