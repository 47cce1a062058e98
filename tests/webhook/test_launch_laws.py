"""Laws of the launch: the author's words survive, and a shell reads a script as its author wrote it."""

import os
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.launches import EXECUTOR, SYMMETRIC_RUN, engine, group, written

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
VALUE = st.sampled_from(['{"kv_role": "kv_both"}', "a b", "$HOME", "$(NAME)", "", "'", "--", "x\ny"]) | TEXT
MODEL = st.sampled_from([["--model", "org/M"], ["--model=org/N"], ["--model", "$(MODEL)"]])
KEPT = st.one_of(
    st.sampled_from([["-tp", "8"], ["--tensor_parallel_size=8"], ["--enforce-eager"], ["--seed", "-1"]]),
    st.builds(lambda value: [f"--override={value}"], VALUE),
    st.builds(lambda value: ["--served-model-name", f"m{value}"], VALUE),
)
PREFIX = st.sampled_from([[], ["exec"], ["env", "A=b", "C="], ["tini", "--"], ["nice", "-n", "5"]])
MODULE = ["python3", "-m", "vllm.entrypoints.openai.api_server"]


@given(
    models=st.lists(MODEL, max_size=2),
    kept=st.lists(KEPT, max_size=5),
    order=st.randoms(),
    prefix=PREFIX,
    is_module=st.booleans(),
)
def test_only_the_model_moves_where_the_program_is_replaced(
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
    before = prefix if is_module else []
    assert container["args"] == [*SYMMETRIC_RUN, *before, "vllm", "serve", *model, *stays, *EXECUTOR]


@given(PREFIX, st.lists(MODEL | KEPT, max_size=6), st.integers(0, 12))
def test_every_word_of_vllm_serve_stays_in_its_place(
    prefix: list[str], pieces: list[list[str]], boundary: int
) -> None:
    words = [*prefix, "vllm", "serve", *(word for piece in pieces for word in piece)]
    at = min(boundary, len(words))

    container = written(group(engine(words[at:], words[:at])))

    assert container["args"] == [*SYMMETRIC_RUN, *words, *EXECUTOR]


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    """Put programs into a PATH that say how they were called, one word a line."""
    for name in ("vllm", "ray", "python3"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nprintf '%s\\n' {name} \"$@\"\n", encoding="utf-8")
        program.chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.defpath}", "MODEL": "org/M", "FLAGS": "-tp 8"}


def said(words: list[str], programs: dict[str, str]) -> list[str]:
    """Run a command as the kubelet would, and give the words that the engine was called with."""
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
def test_a_real_shell_hands_the_engine_the_same_words(script: str, programs: dict[str, str]) -> None:
    before = said(["sh", "-c", script], programs)

    container = written(group(engine(command=["sh", "-c", script])))

    changed = [*container["command"], *container.get("args", ())]
    ray = ["ray", *SYMMETRIC_RUN[:2], "leader:6379", *SYMMETRIC_RUN[3:]]
    assert said(changed, programs) == [*ray, *before, *EXECUTOR]


def test_a_real_shell_hands_on_the_items_behind_the_script(programs: dict[str, str]) -> None:
    command = ["sh", "-c", 'exec vllm serve M "$@"', "--"]
    args = ["-tp", "16", "--x", "a  b", ""]

    container = written(group(engine(args, command)))

    changed = [*container["command"], *container["args"]]
    before = said([*command, *args], programs)
    assert said(changed, programs)[9:] == [*before, *EXECUTOR]
