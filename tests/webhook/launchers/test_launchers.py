"""Every launcher: command and args of leader and workers, and the choice of the launcher."""

import copy
from dataclasses import replace

import pytest

from intent.lws import Accelerators, Engine, Intent, Template
from intent.settings import Settings
from tests.builders.lws import lws, put
from tests.webhook.launches import SETTINGS, engine, group, written
from webhook.check import check
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.mutate import input_of
from webhook.mutate.launch import launch
from webhook.overlay.merge3 import LAUNCHER_WORDS
from webhook.validate.launch import launch as validate

OLD = "vllm/vllm-openai:v0.10.2"
NEW = "vllm/vllm-openai:v0.20.2"
RANKS = ["--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)", "--master-addr", "$(LWS_LEADER_ADDRESS)"]
MODULE = "python3 -m vllm.entrypoints.openai.api_server"
SGLANG = "python3 -m sglang.launch_server"


def both(one: Engine, launcher: str, size: int = 2) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return command and args of the leader, then of the workers, whether rewritten or not."""
    intent = group(one, launcher=launcher, size=size)
    templates = launch(input_of(intent, SETTINGS))["spec"]["leaderWorkerTemplate"]
    words: list[list[str]] = []
    for field in ("leaderTemplate", "workerTemplate"):
        container = templates[field]["spec"]["containers"][0]
        words += [container.get("command", list(one.command)), container.get("args", list(one.args)) or []]
    return words[0], words[1], words[2], words[3]


def test_api_servers_are_dropped_from_the_command_too() -> None:
    _, _, command, args = both(
        engine("M -tp 16", "vllm serve -asc 2 --api-server-count 4 -asc 8", NEW), "vllm-native"
    )

    assert (command, args[:3]) == (["vllm", "serve"], ["M", "-tp", "16"])


@pytest.mark.parametrize(
    "command", [["sh", "-c", 'cd /x; exec "$@"', "sh"], ["sh", "-c", 'vllm serve "$@"', "sh"]]
)
@pytest.mark.parametrize("image", [NEW, OLD])
def test_api_servers_are_dropped_from_the_items_of_a_script_too(command: list[str], image: str) -> None:
    program = ["vllm", "serve"] if "exec" in command[2] else []

    _, leader, _, worker = both(
        engine([*program, "M", "-asc", "4", "-dp", "2"], command, image), "vllm-native"
    )

    assert ("-asc" in leader, "-asc" in worker, "4" in worker) == (True, False, False)


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("cd /x; vllm serve M -asc 2", True),
        ("cd /x; vllm serve M -asc 2 -dph", False),
        ("cd /x; vllm serve M", False),
    ],
)
def test_api_servers_in_the_text_of_a_script_cannot_be_dropped(script: str, *, left: bool) -> None:
    intent = group(engine("", ["sh", "-c", script], NEW), launcher="vllm-native")

    assert (launch(input_of(intent, SETTINGS)) == {}) is left


@pytest.mark.parametrize(
    ("script", "items", "expected"),
    [
        ('vllm serve -tp 8 "$@"', "-pp 2 -- M", ('vllm serve -tp 8 "$@"', f"-pp 2 {' '.join(RANKS)} -- M")),
        ('vllm serve -tp 8 -- "$@"', "M", (f'vllm serve -tp 8 {" ".join(RANKS)} -- "$@"', "M")),
        ("cd /x; vllm serve -- M", "", (f"cd /x; vllm serve {' '.join(RANKS)} -- M", "")),
        (
            'cd /x; exec "$@"',
            "vllm serve M -- x",
            ('cd /x; exec "$@"', f"vllm serve M {' '.join(RANKS)} -- x"),
        ),
    ],
)
def test_flags_go_into_a_script_before_two_dashes(script: str, items: str, expected: tuple[str, str]) -> None:
    behind = ["sh", *items.split()] if items else []

    command, args, _, _ = both(engine(behind, ["sh", "-c", script], NEW), "vllm-native")

    assert (command[2], args[1:]) == (expected[0], expected[1].split())


def test_arithmetic_stays_in_a_script_that_passes_on_its_items() -> None:
    one = engine("-dp 4", ["sh", "-c", 'cd /x; vllm serve M "$@"', "sh"], OLD)

    _, _, command, args = both(one, "vllm-native")

    assert command[2].endswith("--headless --data-parallel-start-rank $((LWS_WORKER_INDEX*2))")
    assert args == ["-dp", "4"]


def test_no_script_contains_text_that_the_kubelet_expands() -> None:
    for data in ("--model M -tp 16", "--model M -dp 4"):
        for launcher in ("ray-start", "vllm-native"):
            command, _, worker, _ = both(engine(data, image=OLD), launcher)
            scripts = [*command[2:3], *worker[2:3]]

            assert [text for text in scripts if "$(" in text.replace("$((", "")] == []


def test_ray_start_gets_the_number_of_countable_gpus() -> None:
    with_gpus, _, _, _ = both(engine("M", "vllm serve", OLD), "ray-start")
    without, _, _, _ = both(
        engine("M", "vllm serve", OLD, accelerators=Accelerators("google.com/tpu", 4)), "ray-start"
    )

    assert ("--num-gpus=8" in with_gpus[2], "--num-gpus" in without[2]) == (True, False)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launchers_marks_are_not_in_an_authors_arguments(name: str) -> None:
    one = engine("--model-path M", SGLANG) if name == "sglang" else engine("--model M", image=NEW)
    intent = group(one, launcher=name)

    templates = launch(input_of(intent, SETTINGS))["spec"]["leaderWorkerTemplate"]

    assert [
        field for field, written in templates.items() if not any(m in str(written) for m in LAUNCHER_WORDS)
    ] == []


# --- the choice -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "args", "chosen"),
    [
        ("vllm/vllm-openai:v0.11.0", "--model M", "ray-start"),
        ("vllm/vllm-openai:v0.11.1", "--model M", "vllm-native"),
        ("vllm/vllm-openai:v0.11.1", "--model M --dist ray", "ray-start"),
        ("vllm/vllm-openai:v0.17.1", "--model M", "ray-symmetric"),
        ("vllm/vllm-openai:v0.17.1", "--model M --dist mp", ""),
        ("vllm/vllm-openai:v0.16.0", "--model M --dist mp", "vllm-native"),
        ("vllm/vllm-openai:v0.18.0", "--model M --dist mp", "vllm-native"),
        ("vllm/vllm-openai:v0.17.0", "--model M -dp 2 -tp 16", ""),
        ("vllm/vllm-openai:v0.17.1", "--model M -dp 2", "vllm-native"),
        ("vllm/vllm-openai:v0.17.1", "--model M -dp 2 -dpb ray", "ray-symmetric"),
        (NEW, "--model M", "vllm-native"),
        (NEW, "--model M --dist ray", ""),
        (NEW, "--model M -dpb ray", ""),
        (OLD, "--model M --dist mp", ""),
        ("vllm/vllm-openai:v0.17.1", "--model M --dist=ray", "ray-symmetric"),
        (OLD, "--model M -dp 4 -tp 4", "vllm-native"),
        (OLD, "--model M -dp 2 -tp 16", ""),
        ("vllm/vllm-openai:v0.8.5", "--model M -dp 4 -tp 4", ""),
        (OLD, "--model M -dp $(N)", "ray-start"),
        ("vllm/vllm-openai:latest", "--model M", "vllm-native"),
        ("vllm/vllm-openai:latest", "--model M --dist ray", ""),
        ("vllm/vllm-openai:mine", "--model M", "vllm-native"),
        ("vllm/vllm-openai:mine", "--model M --dist mp", "vllm-native"),
        ("corp/llm:1", "vllm serve M", "vllm-native"),
        ("corp/llm:1", "vllm serve M --dist ray", "ray-start"),
        ("corp/llm:1", "vllm serve M --distributed_executor_backend=ray", "ray-start"),
        ("corp/llm:1", "vllm serve M -dp 2 -dpb ray", "ray-start"),
        ("corp/llm:1", "python3 -u -m vllm.entrypoints.openai.api_server --model M", ""),
        ("ghcr.io/llm-d/llm-d-cuda:v0.9.0", "vllm serve M", "vllm-native"),
        ("ghcr.io/llm-d/llm-d-cuda:v0.9.0", "vllm serve M --dist ray", ""),
        ("rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "vllm serve M -dp 2", "vllm-native"),
        ("rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "vllm serve M", "ray-start"),
        ("rocm/vllm:rocm7.0_vllm_0.17.1", "vllm serve M", "ray-start"),
        ("rocm/vllm:rocm7.0_vllm_0.20.1", "vllm serve M", "vllm-native"),
        ("vllm/vllm-tpu:v0.12.0", "vllm serve M --dist mp", "vllm-native"),
        ("nvcr.io/nvidia/vllm:25.10-py3", "vllm serve M --dist ray", "ray-start"),
        ("nvcr.io/nvidia/vllm:26.03-py3", "vllm serve M", "ray-start"),
        ("nvcr.io/nvidia/vllm:26.09-py3", "vllm serve M", "vllm-native"),
        ("nvcr.io/nvidia/vllm:26.10-py3", "vllm serve M", "vllm-native"),
        ("registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.0.0", "vllm serve M", ""),
        ("quay.io/ascend/vllm-ascend:v0.11.0rc1", "vllm serve M", "ray-start"),
        ("quay.io/ascend/vllm-ascend:v0.17.0rc1", "vllm serve M", "ray-start"),
        ("quay.io/ascend/vllm-ascend:v0.18.0rc1-a3", "vllm serve M", "vllm-native"),
        ("corp/llm:1", "vllm serve M -dp 2", "vllm-native"),
        ("corp/llm:1", "python3 -m sglang.launch_server", "sglang"),
        ("lmsysorg/sglang:v0.5.9", "vllm serve M", ""),
        (NEW, "python3 -m sglang.launch_server", ""),
    ],
)
@pytest.mark.parametrize("annotation", ["", "auto"])
def test_the_choice_depends_on_engine_flags_and_image(
    image: str, args: str, chosen: str, annotation: str
) -> None:
    plan = read_plan(group(engine(args, image=image), launcher=annotation), SETTINGS)

    assert (plan.launcher if plan.rewritten else "") == chosen


@pytest.mark.parametrize(
    ("settings", "annotation", "args", "chosen"),
    [
        (Settings(), "", "M", "vllm-native"),
        (Settings(), "", f"{SGLANG} --tp 16", "sglang"),
        (Settings(), "", "M --dist mp", "vllm-native"),
        (Settings(), "ray-symmetric", "M --dist mp", "ray-symmetric"),
        (Settings(launcher="auto"), "", "M", "vllm-native"),
        (Settings(launcher="ray-start"), "", "M", "vllm-native"),
        (Settings(launcher="ray-start"), "ray-start", "M", "ray-start"),
        (Settings(launcher="none"), "", f"{SGLANG} --tp 16", "none"),
        (Settings(launcher="none"), "auto", "M", "vllm-native"),
        (Settings(launcher="none"), "vllm-native", "M", "vllm-native"),
    ],
)
def test_the_annotation_overrides_the_settings(
    settings: Settings, annotation: str, args: str, chosen: str
) -> None:
    intent = group(engine(args, image=NEW), launcher=annotation)

    assert read_plan(intent, settings).launcher == chosen


@pytest.mark.parametrize(
    ("default", "annotation", "image", "chosen"),
    [
        ("ray-start", "", "vllm/vllm-openai:v0.17.1", "ray-start"),
        ("ray-start", "auto", "vllm/vllm-openai:v0.17.1", "ray-symmetric"),
        ("ray-start", "", "corp/llm:1", "ray-start"),
        ("ray-start", "auto", "corp/llm:1", "vllm-native"),
        ("ray-start", "", NEW, "vllm-native"),
        ("ray-symmetric", "", OLD, "ray-start"),
        ("sglang", "", "vllm/vllm-openai:v0.17.1", "ray-symmetric"),
    ],
)
def test_the_operators_default_is_used_unless_the_image_cannot_run_it(
    default: str, annotation: str, image: str, chosen: str
) -> None:
    intent = group(engine("vllm serve M", image=image), launcher=annotation)

    assert read_plan(intent, Settings(launcher=default)).launcher == chosen


@pytest.mark.parametrize(
    ("image", "annotation", "code", "why"),
    [
        (OLD, "", "", "v0.10.2 has Ray 2.49 or older: ray-symmetric needs Ray 2.54 or later; ray-start"),
        (NEW, "", "", "v0.20.2 has no Ray: ray-symmetric needs Ray 2.54 or later; vllm-native is used"),
        (NEW, "auto", "", "v0.20.2 has no Ray: ray-symmetric needs Ray 2.54 or later; vllm-native is used"),
        ("vllm/vllm-openai:v0.17.1", "", "", "vllm-openai v0.17.1 runs it"),
        (OLD, "ray-symmetric", "", "fusioninfer.io/launcher names it"),
        ("corp/llm:1", "", "FI527", "not known to have vLLM 0.11.1 or later, which is assumed; to confirm"),
        ("corp/llm:1", "auto", "FI527", "to confirm, set fusioninfer.io/launcher: vllm-native"),
        ("corp/llm:1", "ray-symmetric", "", "fusioninfer.io/launcher names it"),
    ],
)
def test_the_choice_has_a_reason(image: str, annotation: str, code: str, why: str) -> None:
    choice = read_plan(group(engine("vllm serve M", image=image), launcher=annotation), SETTINGS)

    assert (choice.code, why in choice.why) == (code, True)


ECR = "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm"
PUBLIC = "public.ecr.aws/deep-learning-containers/vllm"


@pytest.mark.parametrize(
    ("image", "flags", "launcher", "form"),
    [
        (f"{ECR}:0.11.0-gpu-py312-cu128-ubuntu22.04-ec2", "-tp 8 -pp 2", "ray-start", "ray start"),
        (
            f"{ECR}:0.14.0-gpu-py312-cu129-ubuntu22.04-sagemaker-v1.0",
            "-tp 8 -pp 2",
            "vllm-native",
            "--nnodes",
        ),
        (f"{PUBLIC}:0.11.2-gpu-py312-ec2-soci", "-tp 16", "vllm-native", "--nnodes"),
        (f"{PUBLIC}:0.21.0-gpu-py312", "-dp 2 -tp 8", "vllm-native", "--data-parallel-address"),
        (f"{PUBLIC}:server-cuda-v1.3", "-tp 8 -pp 2", "vllm-native", "--nnodes"),
        (f"{ECR}:server-sagemaker-cuda", "-dp 2 -tp 8", "vllm-native", "--data-parallel-address"),
        ("ghcr.io/llm-d/llm-d-cuda:v0.5.1", "-tp 8 -pp 2", "vllm-native", "--nnodes"),
        ("ghcr.io/llm-d/llm-d-aws:v0.5.0", "-dp 2 -tp 8", "vllm-native", "--data-parallel-address"),
    ],
)
def test_images_of_aws_and_llm_d_are_known_by_tags(image: str, flags: str, launcher: str, form: str) -> None:
    intent = group(engine(command=f"vllm serve M {flags}", image=image))

    choice = read_plan(intent, SETTINGS)

    assert (choice.launcher, choice.code) == (launcher, "")
    assert form in str(written(intent))
    mine = group(engine(command="vllm serve M -tp 8 -pp 2", image=image.replace("/vllm:", "/my-vllm:")))
    assert "llm-d" in image or read_plan(mine, SETTINGS).code == "FI527"


def test_the_finding_has_the_path_of_the_decisive_image() -> None:
    leader, worker = (engine("vllm serve M -tp 8 -pp 2", image=image) for image in (NEW, "corp/llm:1"))

    (found,) = (one for one in validate(input_of(group(worker, leader), SETTINGS)) if one.code == "FI527")

    assert (found.path.split(".")[2], found.message[:20]) == ("workerTemplate", "not known to have vL")


def test_the_command_stays_with_a_warning_if_no_launcher_can_start() -> None:
    intent = group(engine("M -tp 8 -pp 2 --dist ray", "vllm serve", NEW))

    (found,) = validate(input_of(intent, SETTINGS))

    assert launch(input_of(intent, SETTINGS)) == {}
    assert found.code == "FI532"
    assert found.message.startswith(
        "left as it is: vllm-openai v0.20.2 has no Ray: ray-symmetric needs Ray 2.54 or later; set"
    )
    assert launch(input_of(replace(intent, launcher="ray-start"), SETTINGS)) != {}


@pytest.mark.parametrize(
    ("launcher", "command"),
    [
        ("vllm-native", "python3 -u -m vllm.entrypoints.openai.api_server --model M"),
        ("vllm-native", "vllm serve M --dist ray"),
        ("vllm-native", "vllm serve M -dpb ray"),
        ("ray-start", "vllm serve M --dist mp"),
        ("sglang", "vllm serve M"),
        ("ray-symmetric", f"{SGLANG} --tp 16"),
        ("ray-symmetric", "trtllm-serve M"),
        ("auto", "lmdeploy serve api_server M"),
        ("ray-symetric", "vllm serve M"),
    ],
)
def test_a_command_that_a_launcher_cannot_rewrite_stays(launcher: str, command: str) -> None:
    assert launch(input_of(group(engine("", command, NEW), launcher=launcher), SETTINGS)) == {}


def test_a_script_with_the_module_cannot_be_headless() -> None:
    intent: Intent = group(
        engine("", ["sh", "-c", f"cd /x; {MODULE} --model M"], NEW), launcher="vllm-native"
    )

    assert launch(input_of(intent, SETTINGS)) == {}
    assert launch(input_of(replace(intent, launcher="ray-start"), SETTINGS)) != {}


@pytest.mark.parametrize(
    ("launcher", "field"), [("vllm-native", "args"), ("ray-symmetric", "args"), ("ray-start", "command")]
)
def test_an_edited_launch_belongs_to_its_editor(launcher: str, field: str) -> None:
    once = put(lws(launcher=launcher))
    edited = copy.deepcopy(once)
    container = edited["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    container[field][-2] += " # edited"

    again = put(edited, once)

    kept = again["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    assert (kept.get("command"), kept.get("args")) == (container.get("command"), container.get("args"))
    assert "FI523" in [found.code for found in check(again, once)]


@pytest.mark.parametrize(
    "other", [engine(["-c", "./start"], ["sh"]), None], ids=["another command", "no engine"]
)
def test_a_launch_is_never_written_on_one_side_only(other: Engine | None) -> None:
    served = Template("leaderTemplate", engine("M -tp 16"))
    asked = replace(group(engine("M")), templates=(served, Template("workerTemplate", other)))

    assert not read_plan(replace(asked, launcher="ray-symmetric"), SETTINGS).rewritten
    assert read_plan(group(engine("M -tp 16"), launcher="ray-symmetric"), SETTINGS).rewritten
