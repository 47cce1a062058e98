"""Findings about the other launchers, about KV transfer, and about the pods."""

from dataclasses import replace
from typing import Any, Final

import pytest

from intent.lws import Accelerators, Engine, Intent, Pod, Template
from intent.shapes import Later
from tests.webhook.launches import SETTINGS, codes, engine, group
from webhook.mutate import input_of
from webhook.validate.launch import launch

OLD = "vllm/vllm-openai:v0.11.0"
NEW = "vllm/vllm-openai:v0.20.2"
SGLANG_IMAGE = "lmsysorg/sglang:v0.5.9"
SGLANG = "python3 -m sglang.launch_server --model-path M --host 0.0.0.0"
FINE = "vllm serve M -tp 8 -pp 2"


def said(intent: Intent) -> list[str]:
    """Return the messages of all findings."""
    return [found.message for found in launch(input_of(intent, SETTINGS))]


@pytest.mark.parametrize(
    ("args", "size", "found"),
    [
        ("-tp 8 -pp 4", 4, []),
        ("-tp 8 -dp 4", 4, []),
        ("-tp 16 -pp 4", 4, ["FI316"]),
        ("-tp 8", 4, ["FI501"]),
        ("-tp 32", 4, ["FI502"]),
        ("-tp 7 --config c", 4, ["FI509"]),
    ],
)
def test_native_ranks_spread_evenly_over_the_pods(args: str, size: int, found: list[str]) -> None:
    intent = group(engine(args, "vllm serve M", NEW), launcher="vllm-native", size=size)

    assert codes(intent) == found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ("--tp 16", []),
        ("--tp-size=8 --pp-size 2", []),
        ("--tensor-parallel-size 16 --dp 4 --enable-dp-attention", []),
        ("--tp 16 --dp 4", ["FI316"]),
        ("--tp 16 --dp-size 3 --enable-dp-attention", ["FI316"]),
        ("--tp 7", ["FI316"]),
        ("--tp 32", ["FI316"]),
        ("--tp 4", ["FI501"]),
        ("--tp 16 --port 20000", ["FI311"]),
        ("--tp", []),
        ("--tp zero", []),
    ],
)
def test_sglangs_sizes_are_read_from_its_own_flags(args: str, found: list[str]) -> None:
    assert codes(group(engine(args, SGLANG, SGLANG_IMAGE))) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (SGLANG + " --tp 16", []),
        ("python3 -m sglang.launch_server --model-path M --tp 16", ["FI509"]),
        ("python3 -m sglang.launch_server --model-path M --tp 16 --host localhost", ["FI509"]),
        (f"{FINE} --host 127.0.0.1", ["FI509"]),
        (f"{FINE} --host ::", []),
        (FINE, []),
    ],
)
def test_an_api_that_no_other_pod_reaches_is_a_warning(command: str, found: list[str]) -> None:
    image = SGLANG_IMAGE if "sglang" in command else "vllm/vllm-openai:v0.17.1"

    assert codes(group(engine("", command, image))) == found


@pytest.mark.parametrize(
    ("launcher", "image", "needed"),
    [
        ("ray-symmetric", OLD, "Ray 2.54 or later; set fusioninfer.io/launcher: ray-start"),
        ("ray-symmetric", NEW, "Ray 2.54 or later; set fusioninfer.io/launcher: vllm-native"),
        ("vllm-native", "vllm/vllm-openai:v0.17.1", "later; set fusioninfer.io/launcher: ray-symmetric"),
        ("ray-symmetric", "vllm/vllm-openai:v0.13.0", "set fusioninfer.io/launcher: vllm-native"),
    ],
)
def test_an_image_that_cannot_run_the_launcher_gets_an_alternative(
    launcher: str, image: str, needed: str
) -> None:
    (message,) = said(group(engine("-tp 8 -pp 2", "vllm serve M", image), launcher=launcher))

    assert message.endswith(needed)


@pytest.mark.parametrize(
    ("launcher", "command", "found"),
    [
        ("ray-start", f"{FINE} --distributed-executor-backend=uni", ["FI313"]),
        ("vllm-native", f"{FINE} --dist ray", ["FI313"]),
        ("vllm-native", f"{FINE} -dpb ray", ["FI514"]),
        ("vllm-native", "python3 -u -m vllm.entrypoints.openai.api_server --model M", ["FI514"]),
        ("sglang", FINE, ["FI519"]),
        ("ray-start", SGLANG, ["FI519"]),
        ("auto", "lmdeploy serve api_server M", ["FI519"]),
        ("ray-start", "lmdeploy serve api_server M --tp 16", []),
        ("ray-start", "lmdeploy serve api_server M", ["FI501"]),
        ("ray-start", "lmdeploy serve api_server M --tp 32", ["FI307"]),
        ("ray-symmetric", "lmdeploy serve api_server M --tp 12", ["FI501"]),
        ("ray-symmetric", "lmdeploy serve api_server M --tp 16 --ep 16", []),
        ("ray-symmetric", "lmdeploy serve api_server M --tp 16 --dp 16", []),
        ("ray-start", "lmdeploy serve api_server M --tp 16 --server-port 6379", ["FI311"]),
        ("auto", "lmdeploy serve api_server M --tp 16", ["FI519"]),
        ("auto", "lmdeploy serve api_server M --tp 32", ["FI519", "FI307"]),
        ("auto", "trtllm-serve M", ["FI519"]),
        ("auto", "trtllm-serve serve M --tp_size 8 --pp_size 2", ["FI519"]),
        ("auto", "trtllm-serve M --tp_size 16 --pp_size 2", ["FI519", "FI307"]),
        ("auto", "trtllm-serve M --tp_size 8", ["FI519", "FI501"]),
        ("auto", "trtllm-serve M --tp_size 32 --config c.yaml", ["FI519"]),
        ("auto", "mpirun -n 32 trtllm-serve M --tp_size 32", ["FI307"]),
        ("auto", "python3 -m tensorrt_llm.commands.serve M --tp_size 32", ["FI519", "FI307"]),
    ],
)
def test_a_launcher_that_does_not_fit_a_command_is_told(
    launcher: str, command: str, found: list[str]
) -> None:
    assert codes(group(engine("", command, "corp/llm:1"), launcher=launcher)) == found


@pytest.mark.parametrize(("args", "found"), [("-dp 2 -tp 8 M", []), ("-dp 2 -tp 8 -- M", ["FI536", "FI514"])])
def test_a_first_rank_cannot_be_added_after_two_dashes(args: str, found: list[str]) -> None:
    intent = group(engine(args, "vllm serve", "vllm/vllm-openai:v0.10.2"), launcher="vllm-native")

    assert codes(intent) == found


@pytest.mark.parametrize(
    ("launcher", "command", "port", "found"),
    [
        ("ray-symmetric", FINE, "20000", []),
        ("vllm-native", FINE, "29501", ["FI311"]),
        ("vllm-native", FINE, "29551", []),
        ("vllm-native", FINE, "6379", []),
        ("sglang", f"{SGLANG} --tp 16", "20000", ["FI311"]),
        ("sglang", f"{SGLANG} --tp 16", "8265", []),
    ],
)
def test_a_port_of_the_launch_cannot_be_the_port_of_the_api(
    launcher: str, command: str, port: str, found: list[str]
) -> None:
    intent = group(engine("", f"{command} --port {port}", "corp/llm:1"), launcher=launcher)

    assert codes(intent) == found


def test_a_group_of_one_sglang_is_checked_too() -> None:
    assert codes(group(engine("--tp 16", SGLANG), size=1)) == ["FI308"]


# --- KV transfer ------------------------------------------------------------------------------------


CLAIMED: Final = Accelerators(claimed=True)
"""Accelerators that cannot be counted, so that no size is compared with them."""


def handing(config: str, component: Any = "prefiller", image: str = NEW) -> Intent:
    """Return a group with KV transfer."""
    one = engine(["M", "--kv-transfer-config", config], "vllm serve", image, accelerators=CLAIMED)
    return replace(group(one, size=1), component_type=component)


def side(connector: str, role: str = "kv_producer", more: str = "") -> str:
    """Return the configuration of one side."""
    return f'{{"kv_connector":"{connector}","kv_role":"{role}"{more}}}'


@pytest.mark.parametrize(
    ("config", "component", "found"),
    [
        (side("NixlConnector"), "prefiller", []),
        (side("NixlConnector", "kv_consumer"), "decoder", []),
        (side("NixlConnector", "kv_both"), "worker", []),
        (side("NixlConnector", "kv_consumer"), "prefiller", ["FI315"]),
        (side("NixlConnector", "kv_producer"), "worker", ["FI315"]),
        (side("NixlConnector", "producer"), "prefiller", []),
        ('{"kv_connector":"NixlConnector"}', "prefiller", []),
        ('{"kv_connector":7,"kv_role":"kv_consumer"}', "prefiller", []),
        ("{}", "prefiller", []),
    ],
)
def test_the_side_matches_the_component_type(config: str, component: str, found: list[str]) -> None:
    assert codes(handing(config, component)) == found


@pytest.mark.parametrize(
    ("config", "image", "found"),
    [
        (side("PyNcclConnector"), "vllm/vllm-openai:v0.10.0", []),
        (side("CorpConnector"), NEW, ["FI506"]),
        (side("CorpConnector"), "vllm/vllm-openai:latest", []),
        (side("CorpConnector", more=',"kv_connector_module_path":"corp.kv"'), NEW, []),
        (side("MooncakeConnector"), "vllm/vllm-openai:v0.12.0", ["FI506"]),
    ],
)
def test_what_the_version_lacks_or_refuses_of_a_connector_warns(
    config: str, image: str, found: list[str]
) -> None:
    assert codes(handing(config, image=image)) == found


# --- the pods ---------------------------------------------------------------------------------------

PLAIN = engine("", FINE)


def pods(pod: Pod = Pod(), one: Engine = PLAIN, **fields: Any) -> Intent:  # noqa: B008 - it is frozen
    """Return a group with settings of the pods."""
    return replace(group(one), templates=(Template("workerTemplate", one, pod=Later(lambda: pod)),), **fields)


@pytest.mark.parametrize(
    ("intent", "found"),
    [
        (pods(), []),
        (pods(restart_policy="None"), ["FI510"]),
        (replace(group(PLAIN, PLAIN), restart_policy="None"), ["FI510"]),
        (pods(restart_policy="RecreateGroupOnPodRestart"), []),
        (pods(one=replace(PLAIN, values=(("CUDA_VISIBLE_DEVICES", "0,1"),))), ["FI510"]),
        (pods(one=replace(PLAIN, values=(("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"),))), []),
        (pods(one=replace(PLAIN, values=(("NVIDIA_VISIBLE_DEVICES", "all"),))), []),
    ],
)
def test_pod_settings_that_break_ray_are_warnings(intent: Intent, found: list[str]) -> None:
    assert codes(intent) == found


@pytest.mark.parametrize(
    ("leader", "found"),
    [
        (PLAIN, []),
        (replace(PLAIN, image="vllm/vllm-openai:v0.17.0"), ["FI513"]),
        (replace(PLAIN, env=("TOKEN",)), ["FI513"]),
    ],
)
def test_a_leader_that_differs_is_a_warning(leader: Engine, found: list[str]) -> None:
    assert codes(group(PLAIN, leader=leader)) == found


@pytest.mark.parametrize(("host", "found"), [("0.0.0.0", True), ("10.0.0.1", False)])  # noqa: S104 - a value
def test_an_unreachable_side_channel_is_a_warning(host: str, *, found: bool) -> None:
    one = engine(["M", "-tp", "16", "--kv-transfer-config", side("NixlConnector")], "vllm serve")
    one = replace(one, values=(("VLLM_NIXL_SIDE_CHANNEL_HOST", host),))

    assert ("FI508" in codes(replace(group(one), component_type="prefiller"))) is found
