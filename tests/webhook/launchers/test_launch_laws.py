"""Laws of the launch: the author's arguments survive, and a shell runs a script as its author wrote it."""

import argparse
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.lws import Engine, TemplateField
from tests.webhook.launches import EXECUTOR, SETTINGS, SYMMETRIC_RUN, engine, group, written
from webhook.mutate import input_of

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
VALUE = st.sampled_from(['{"kv_role": "kv_both"}', "a b", "$HOME", "$(NAME)", "", "'", "--", "x\ny"]) | TEXT
MODEL = st.sampled_from([["--model", "org/M"], ["--model=org/N"], ["--model", "$(MODEL)"]])
KEPT = st.one_of(
    st.sampled_from([["-tp", "8"], ["--tensor_parallel_size=8"], ["--enforce-eager"], ["--seed", "-1"]]),
    st.builds(lambda value: [f"--override={value}"], VALUE),
    st.builds(lambda value: ["--served-model-name", f"m{value}"], VALUE),
)
PREFIXES: Final[list[list[str]]] = [
    ["exec"],
    ["env", "A=b", "C="],
    ["tini", "--"],
    ["/usr/bin/dumb-init", "--", "env", "A=b c"],
    ["numactl", "--cpunodebind=0", "-m", "0"],
    ["/opt/nvidia/nvidia_entrypoint.sh"],
]
PREFIX = st.sampled_from([[], *PREFIXES])
MODULE = ["python3", "-m", "vllm.entrypoints.openai.api_server"]


@given(
    models=st.lists(MODEL, max_size=2),
    kept=st.lists(KEPT, max_size=5),
    order=st.randoms(),
    prefix=PREFIX,
    is_module=st.booleans(),
)
def test_converting_the_program_moves_only_the_model(
    models: list[list[str]], kept: list[list[str]], order: Random, prefix: list[str], *, is_module: bool
) -> None:
    pieces = [*models, *kept]
    order.shuffle(pieces)
    words = [word for piece in pieces for word in piece]
    command = [*prefix, *MODULE] if is_module else []

    container = written(group(engine(words, command)))

    last = [piece for piece in pieces if piece in models][-1:]
    model = [piece[-1].removeprefix("--model=") for piece in last]
    stays = [word for piece in pieces if piece not in models for word in piece]
    assert container["command"] == [*(prefix if is_module else []), "ray"]
    assert container["args"] == [*SYMMETRIC_RUN, "vllm", "serve", *model, *stays, *EXECUTOR]


@given(PREFIX, st.lists(MODEL | KEPT, max_size=6), st.integers(0, 12))
def test_every_argument_of_vllm_serve_keeps_its_position(
    prefix: list[str], pieces: list[list[str]], boundary: int
) -> None:
    words = ["vllm", "serve", *(word for piece in pieces for word in piece)]
    whole = [*prefix, *words]
    at = min(boundary, len(whole))

    container = written(group(engine(whole[at:], whole[:at])))

    assert container["command"] == [*prefix, "ray"]
    assert container["args"] == [*SYMMETRIC_RUN, *words, *EXECUTOR]


@given(
    launcher=st.sampled_from(["ray-symmetric", "ray-start", "vllm-native", "sglang"]),
    image=st.sampled_from(["v0.10.2", "v0.17.1", "v0.20.2"]),
    prefix=st.sampled_from(PREFIXES),
    pieces=st.lists(KEPT | st.just(["-dp", "2"]), max_size=4),
    boundary=st.integers(0, 14),
)
def test_every_launcher_keeps_a_prefix_first_on_leader_and_workers(
    launcher: str, image: str, prefix: list[str], pieces: list[list[str]], boundary: int
) -> None:
    program = SGLANG if launcher == "sglang" else ["vllm", "serve", "org/M"]
    words = [*prefix, *program, *(word for piece in pieces for word in piece if piece[0] != "-dp" or image)]
    one = engine(words[boundary:], words[:boundary], f"vllm/vllm-openai:{image}")
    intent = group(one, launcher=launcher)

    for each in input_of(intent, SETTINGS).layout.templates:
        container = written(intent, each.field)
        out = [*container.get("command", one.command), *(container.get("args", one.args) or [])]
        assert out[: len(prefix)] == prefix
        assert prefix[0] not in out[len(prefix) :]


ADDED = ("--distributed-executor-backend", "--nnodes", "--node-rank", "--master-addr", "--dist-init-addr")
SGLANG = ["python3", "-m", "sglang.launch_server"]


@given(
    launcher=st.sampled_from(["ray-symmetric", "ray-start", "vllm-native", "sglang"]),
    pieces=st.lists(KEPT | st.just(["--"]), max_size=5),
    boundary=st.integers(0, 12),
)
def test_argparse_parses_every_added_flag(launcher: str, pieces: list[list[str]], boundary: int) -> None:
    program = SGLANG if launcher == "sglang" else ["vllm", "serve"]
    words = [*program, *(word for piece in pieces for word in piece)]
    at = max(len(program), min(boundary, len(words)))
    one = engine(words[at:], words[:at])
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    for flag in ADDED:
        parser.add_argument(flag)

    container = written(group(one, launcher=launcher), leader_field(one, launcher))

    out = [*container["command"], *(container["args"] or [])]
    added = [flag for flag in ADDED if flag in out]
    seen = vars(parser.parse_known_args(out[out.index(program[-1]) + 1 :])[0])
    assert added
    assert [flag for flag in added if seen[flag[2:].replace("-", "_")] is None] == []
    assert is_subsequence(words, out)


def leader_field(one: Engine, launcher: str) -> TemplateField:
    """Return the field of the leader's template, or of the shared one."""
    return input_of(group(one, launcher=launcher), SETTINGS).layout.templates[0].field


IMAGE = st.sampled_from(["v0.10.2", "v0.17.1", "v0.20.2", "latest"])


@given(
    launcher=st.sampled_from(["ray-symmetric", "ray-start", "vllm-native", "auto"]),
    image=IMAGE,
    pieces=st.lists(KEPT | st.sampled_from([["-dp", "2"], ["-asc", "2"]]), max_size=6),
    is_served=st.booleans(),
    leads=st.booleans(),
)
def test_every_launcher_keeps_the_order_of_the_authors_arguments(
    launcher: str, image: str, pieces: list[list[str]], *, is_served: bool, leads: bool
) -> None:
    words = [word for piece in pieces for word in piece]
    one = engine(["org/M", *words], ["vllm", "serve"] if is_served else [], f"vllm/vllm-openai:{image}")
    intent = group(one, launcher=launcher)
    given = input_of(intent, SETTINGS)
    is_native, is_split = given.plan.launcher == "vllm-native", len(given.layout.templates) > 1

    container = written(intent, "leaderTemplate" if leads and is_split else "workerTemplate")

    out = [*container.get("command", one.command), *(container.get("args", one.args) or [])]
    if is_split and not leads:
        if not is_native:
            return  # a worker of ray-start runs Ray alone
        words = [word for piece in pieces if piece[0] != "-asc" for word in piece]  # it serves no API
    assert is_subsequence(["vllm", "serve", "org/M", *words], out)


@given(
    launcher=st.sampled_from(["ray-symmetric", "ray-start"]),
    pieces=st.lists(KEPT | st.just(["--"]), max_size=6),
    boundary=st.integers(0, 12),
)
def test_a_launcher_keeps_the_order_of_lmdeploys_arguments(
    launcher: str, pieces: list[list[str]], boundary: int
) -> None:
    words = ["lmdeploy", "serve", "api_server", *(word for piece in pieces for word in piece)]
    one = engine(words[boundary:], words[:boundary], "corp/llm:1")
    field = leader_field(one, launcher)

    container = written(group(one, launcher=launcher), field)

    assert container["args"][-len(words) :] == words


def is_subsequence(words: list[str], out: list[str]) -> bool:
    """Return whether all arguments are present, in their order."""
    rest = iter(out)
    return all(word in rest for word in words)


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    """Create programs in a PATH that print their arguments, one per line."""
    scripts = {name: f"printf '%s\\n' {name} \"$@\"" for name in ("vllm", "ray", "python3")}
    scripts |= {
        "tini": 'shift; exec "$@"',
        "numactl": 'shift 3; exec "$@"',
        "nvidia_entrypoint.sh": 'exec "$@"',
    }
    for name, script in scripts.items():
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\ntest -z "$NOTE" || echo {name} $NOTE\n{script}\n', encoding="utf-8")
        program.chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.defpath}", "MODEL": "org/M", "FLAGS": "-tp 8"}


def said(words: list[str], programs: dict[str, str]) -> list[str]:
    """Run a command as the kubelet would, and return the arguments that the engine was called with."""
    expanded = [word.replace("$(LWS_LEADER_ADDRESS)", "leader") for word in words]
    return subprocess.run(
        expanded, env=programs, check=True, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.parametrize(
    "script",
    [
        "vllm serve org/M -tp 8",
        "vllm serve $MODEL $FLAGS",
        'exec vllm serve "$MODEL" --x \'{"a": [1, 2]}\' "it\'s" \'\' a\\ b',
        "export A='b c'; vllm serve M \"$A\"",
        'cd / && vllm serve M --x "$(echo a b)" `echo c d` || exit 1',
        "vllm serve M --y 2>&1 -tp 8 | cat",
        "vllm serve M -tp 8 3>&1 2>/dev/null >&3; vllm_done=1\n: # vllm serve",
        "# start\nvllm serve M \\\n  --x '# no comment' --y a#b # comment\n",
        'if test -n "$MODEL"; then X=1; fi\nfor i in 1 2; do :; done\nvllm serve M --x $X',
        "(exit 0) && { :; } && vllm serve M",
        'A=b python3 -m vllm.entrypoints.openai.api_server --model M "a b"',
    ],
)
def test_a_real_shell_passes_the_same_arguments_to_the_engine(script: str, programs: dict[str, str]) -> None:
    before = said(["sh", "-c", script], programs)

    container = written(group(engine(command=["sh", "-c", script])))

    changed = [*container["command"], *container.get("args", ())]
    ray = ["ray", *SYMMETRIC_RUN[:2], "leader:6379", *SYMMETRIC_RUN[3:]]
    assert said(changed, programs) == [*ray, *before, *EXECUTOR]


def test_a_real_shell_passes_on_the_items_after_the_script(programs: dict[str, str]) -> None:
    command = ["sh", "-c", 'exec vllm serve M "$@"', "--"]
    args = ["-tp", "16", "--x", "a  b", ""]

    container = written(group(engine(args, command)))

    changed = [*container["command"], *container["args"]]
    before = said([*command, *args], programs)
    assert said(changed, programs)[9:] == [*before, *EXECUTOR]


@pytest.mark.parametrize("script", ['exec "$@"', 'cd / && A=b "$@" 2>&1', 'A=1; env B="$A" "${@}"'])
def test_a_real_shell_starts_the_items_after_the_script(script: str, programs: dict[str, str]) -> None:
    command = ["sh", "-c", script, "sh"]
    args = ["vllm", "serve", "M", "--x", "a  b", "", "$HOME"]

    container = written(group(engine(args, command)))

    changed = [*container["command"], *container["args"]]
    assert said(changed, programs)[9:] == [*said([*command, *args], programs), *EXECUTOR]


RUNNABLE: Final[list[list[str]]] = [
    ["env", "A=b", "NOTE=noted"],
    ["tini", "--", "env", "NOTE=noted"],
    ["numactl", "--cpunodebind=0", "-m", "0"],
    ["nvidia_entrypoint.sh"],
]
"""Prefixes that run on the test machine, some as stand-ins."""


@pytest.mark.parametrize("prefix", RUNNABLE, ids=" ".join)
@pytest.mark.parametrize("how", ["items", "script", "before a script", "both"])
def test_after_a_prefix_the_engine_gets_the_same_arguments_and_ray_the_variables(
    how: str, prefix: list[str], programs: dict[str, str]
) -> None:
    script = 'cd / && vllm serve M --x "a  b" $FLAGS'
    items: dict[str, list[str]] = {
        "items": [*prefix, "vllm", "serve", "M", "--x", "a  b", "", "$HOME"],
        "script": ["sh", "-c", script.replace("vllm", " ".join([*prefix, "vllm"]))],
        "before a script": [*prefix, "sh", "-c", script],
        "both": [
            "env",
            "sh",
            "-c",
            f'exec {" ".join(prefix)} "$@"',
            "sh",
            "vllm",
            "serve",
            "M",
            "--x",
            "a  b",
        ],
    }
    before = said(items[how], programs)

    container = written(group(engine(command=items[how])))

    after = said([*container["command"], *container.get("args", ())], programs)
    noted = [line.replace("vllm", "ray") for line in before[: before.index("vllm")] if line != "tini noted"]
    assert after[after.index("--") + 1 :] == [*before[before.index("vllm") :], *EXECUTOR]
    assert after[: after.index("ray")] == noted


@pytest.mark.parametrize("prefix", RUNNABLE, ids=" ".join)
def test_after_a_prefix_ray_start_has_the_variables_on_leader_and_workers(
    prefix: list[str], programs: dict[str, str]
) -> None:
    one = engine(["serve", "M", "a  b"], [*prefix, "vllm"], "vllm/vllm-openai:v0.10.2")
    intent = group(one, launcher="ray-start")
    noted = ["ray noted"] if "NOTE=noted" in prefix else []

    for field in ("leaderTemplate", "workerTemplate"):
        container = written(intent, field)
        words = [*container["command"], *(container["args"] or [])]
        out = said(words, programs | {"LWS_LEADER_ADDRESS": "leader"})
        assert out[: len(noted) + 2] == [*noted, "ray", "start"]
        assert (out[-3:] == ["serve", "M", "a  b"]) == (field == "leaderTemplate")


def as_kubelet(words: list[str], env: dict[str, str]) -> list[str]:
    """Expand `$(X)` in arguments as the kubelet does."""
    for name, value in env.items():
        words = [word.replace(f"$({name})", value) for word in words]
    return words


@pytest.mark.parametrize("args", [["-tp", "8", "--x", "a  b", "", "$HOME", "'"], ['--y={"a": 1}']])
def test_a_shell_computes_the_rank_and_passes_all_arguments(
    args: list[str], programs: dict[str, str]
) -> None:
    one = engine(["M", "-dp", "4", *args], "vllm serve", "vllm/vllm-openai:v0.10.2")
    container = written(group(one, launcher="vllm-native"))

    env = {"LWS_WORKER_INDEX": "1", "LWS_LEADER_ADDRESS": "leader"}
    out = said(as_kubelet([*container["command"], *container["args"]], env), programs | env)

    assert out[: 5 + len(args)] == ["vllm", "serve", "M", "-dp", "4", *args]
    assert out[-3:] == ["--headless", "--data-parallel-start-rank", "2"]


def test_a_leader_of_ray_start_passes_on_every_argument(programs: dict[str, str]) -> None:
    args = ["-tp", "8", "--x", "a  b", "", "$HOME", "'"]
    one = engine(["M", *args], "vllm serve", "vllm/vllm-openai:v0.10.2")
    container = written(group(one, launcher="ray-start"), "leaderTemplate")

    out = said([*container["command"], *container["args"]], programs | {"VLLM_HOST_IP": "10.0.0.1"})

    start = ["ray", "start", "--head", "--port=6379", "--node-ip-address=10.0.0.1", "--num-gpus=8"]
    assert out[:7] == [*start, "--disable-usage-stats"]
    assert out[-len(args) - 3 :] == ["vllm", "serve", "M", *args]


@pytest.mark.parametrize("script", ["cd /; exec vllm serve $MODEL $FLAGS", 'A=1 vllm serve M "a b"'])
def test_ray_start_is_inserted_into_a_script_that_must_stay(script: str, programs: dict[str, str]) -> None:
    one = engine(command=["sh", "-c", script], image="vllm/vllm-openai:v0.10.2")
    before = said(["sh", "-c", script], programs)
    container = written(group(one, launcher="ray-start"), "leaderTemplate")

    out = said(container["command"], programs)

    assert out[-len(before) :] == before
