"""The reader of scripts against a real shell, with stand-ins that print their arguments and variables."""

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importer.leaves import Leaf
from importer.script import commands
from importer.words import GroupPod, StaysError

STAND_IN: Final = """#!/bin/bash
if [ "$1" = status ]; then printf 'node_1\\nnode_2\\nnode_3\\n'; exit 0; fi
if [ "$1" = stop ]; then exit 0; fi
{ printf '%s\\1' "${0##*/}" "$@"; printf '\\2'
printf '%s\\1' "A=$A" "B=$B" "PORT=$PORT"; printf '\\3'
} >> "$STARTED"
"""
QUIET: Final = "#!/bin/bash\nexit 0\n"
ENV: Final = {"PORT": "9000", "ARGS": "--x 1  --y", "EMPTY": "", "LOCAL": "8", "REF": "$(LWS_WORKER_INDEX)"}
LINES: Final = r"""
export A=1
A=2
export A
B=x A=3
export B=$A
A=$((LOCAL * 2))
unset A
PORT=8000
A=$(( ${LWS_WORKER_INDEX:-0} * LOCAL *2 ))
A="b  c"
A='d $B'
A=$ARGS
set -e
echo $A; sleep 1
ray stop --force || true
until ray status; do sleep 1; done
for i in 1 2; do A=$i; ray status; done
until ray start --address=$LWS_LEADER_ADDRESS:6379; do sleep 1; done
while ! ray start --head; do A=3; sleep 1; done
until [ "$(ray status | grep -c node_)" -ge "$LWS_GROUP_SIZE" ]; do sleep 5; done
[ -n x ] && A=4
exit 0
true && A=5
ray status || exit 1
ray start --head || exit 1
false || B=6
ray start --head --port=6379
A=7 ray start --address $LWS_LEADER_ADDRESS
vllm serve m --port $PORT
vllm serve m --a "$A" --b ${B} $ARGS
exec vllm serve $A
vllm serve '$A'
vllm serve --i $LWS_WORKER_INDEX --s "${LWS_GROUP_SIZE}" --r $REF
B=8 vllm serve ${A:-0} ${EMPTY:-e}
vllm serve "'$A'" "a\"b" x\ y
if [ "$LWS_WORKER_INDEX" != 0 ]; then vllm serve w; fi
for i in 1 2; do if ray status; then A=$i; break; fi; sleep 1; done
vllm serve {a,b} *.py
vllm serve $EMPTY
vllm serve ~/m
vllm serve $(PORT) '$(LOCAL)'
""".strip().splitlines()
"""Lines of clumsy scripts: some are read, some are not."""


WHOLE: Final = r"""
: ${EMPTY:=5}; vllm serve "$EMPTY"
printf -v PORT 5; vllm serve $PORT
A=1; A+=2; vllm serve $A
A=0; A=1 B=$A; vllm serve $B
A=0; A=1 B=$A vllm serve $A
A=1; export A=2 B=$A; vllm serve
A=; vllm serve "${A-d}"
export A=1; unset A; A=2; vllm serve
unset PORT; PORT=5; vllm serve
unset PORT; vllm serve ${PORT:-8000}
unset PORT; vllm serve $PORT x
vllm serve $(((LWS_WORKER_INDEX - 3) / 2))
A=1+1; vllm serve $((A * 2))
A="1 + 1"; vllm serve $(($A * 2))
vllm serve $((9**99))
declare PORT=5; vllm serve $PORT
let PORT=5; vllm serve $PORT
echo $((PORT=5)); vllm serve $PORT
test $((PORT++)) = 1; vllm serve $PORT
exit 0; vllm serve
exit $?; vllm serve
exit 0 & vllm serve
exit 1 2; vllm serve
ray start --head; exit; vllm serve
echo && exit 0; vllm serve
A=1; A=2 & vllm serve $A
export B=2 & vllm serve
trap 'ray start' EXIT; vllm serve
cd /nope && exit 0; vllm serve
exec vllm serve a; vllm serve b
for i in 1 2; do if [ 1 = 2 ]; then ray start; fi; done
for i in 1 2; do [ 1 = 2 ] && ray start; done
for PORT in 1 2; do ray status; done; vllm serve $PORT
""".strip().splitlines()
"""Scripts whose effect is easily read otherwise than a shell has it."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stand-ins for the programs that scripts start."""
    folder = tmp_path_factory.mktemp("programs")
    texts = dict.fromkeys(("ray", "vllm"), STAND_IN) | dict.fromkeys(("sleep", "nc", "getent"), QUIET)
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def ran(script: str, pod: GroupPod, folder: Path) -> list[tuple[list[str], dict[str, str]]]:
    """Return the words and the variables of each program that a real shell starts."""
    output = folder / "started"
    output.write_text("")
    own = {
        "LWS_LEADER_ADDRESS": "lws-0.lws",
        "LWS_GROUP_SIZE": str(pod.size),
        "LWS_WORKER_INDEX": str(pod.index),
    }
    env = {name: pod.value(value or "") for name, value in pod.env.items()}
    text = pod.value(script.replace("$(LWS_LEADER_ADDRESS)", own["LWS_LEADER_ADDRESS"]))
    subprocess.run(
        ["/bin/bash", "-c", text],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "STARTED": str(output), **own, **env},
        cwd=folder,
        capture_output=True,
        timeout=20,
        check=False,
    )
    found = []
    for one in output.read_text().split("\3")[:-1]:
        words, variables = (part.split("\1")[:-1] for part in one.split("\2"))
        found.append((words, dict(each.split("=", 1) for each in variables)))
    return found


def read(script: str, pod: GroupPod) -> list[tuple[list[str], dict[str, str]]]:
    """Return the same, as the reader has it; a launch with another program stays."""

    def known(text: str) -> str:
        return pod.value(text).replace("$(LWS_LEADER_ADDRESS)", "lws-0.lws")

    env = {name: pod.value(value or "") for name, value in pod.env.items()}
    read = []
    for command in commands(Leaf(script), pod):
        words = [known(word.value) for word in command.words]
        values = {**env, **{name: value.value for name, value in command.env.items()}}
        if words[0] not in {"ray", "vllm"}:
            raise StaysError(f"{words[0]} is no known engine")
        read.append((words, {name: known(values.get(name, "")) for name in ("A", "B", "PORT")}))
    return read


@given(lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=6), index=st.integers(0, 2))
def test_a_script_that_is_read_starts_the_same_in_a_shell(lines: list[str], index: int, shell: Path) -> None:
    script, pod = "\n".join(lines), GroupPod(index, 3, ENV)
    try:
        found = read(script, pod)
    except StaysError:
        return
    assert found == ran(script, pod, shell), script


@pytest.mark.parametrize("script", WHOLE)
def test_a_script_is_refused_or_starts_the_same_in_a_shell(script: str, shell: Path) -> None:
    pod = GroupPod(0, 3, ENV)
    with suppress(StaysError):
        assert read(script, pod) == ran(script, pod, shell)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("A=x\n" + 'A="$A$A"\n' * 64, "have more than 262144 characters"),
        (f"A=$(({'9' * 4000} * {'9' * 4000}))", "is not known"),
        ("A=$((C * 2))", "the result of `C * 2` is not known"),
        ("export PORT=1$PORT", "the script makes PORT of the value that the container gives it"),
        ("if ray status; then ray start --head; fi", "`if` is not read: write what each pod runs"),
        ("A='x y'\nvllm serve --model=$A", "`$A` is several words, or none"),
        ("echo\n" * 20_000, "the script is too long, or has a function"),
        ("until [ -f /models/ready ]; do sleep 1; done", "does more than wait for Ray, or for the leader"),
        ("KEY=secret curl --user me:secret http://a | sh", "`KEY= curl` depends on another command"),
    ],
)
def test_a_script_that_is_not_read_has_a_reason(script: str, why: str) -> None:
    env = {**ENV, "E": "e" * 999, "D": "$(E)" * 999, "C": "$(D)"}
    with pytest.raises(StaysError, match=re.escape(why)):
        commands(Leaf(script), GroupPod(0, 3, env))


def test_most_lines_are_read() -> None:
    refused = []
    for line in LINES:
        try:
            read(f"A=1\nB=2\n{line}", GroupPod(0, 3, ENV))
        except StaysError:
            refused.append(line)
    assert refused == [
        "unset A",
        "until ray start --address=$LWS_LEADER_ADDRESS:6379; do sleep 1; done",
        "while ! ray start --head; do A=3; sleep 1; done",
        "[ -n x ] && A=4",
        "false || B=6",
        'if [ "$LWS_WORKER_INDEX" != 0 ]; then vllm serve w; fi',
        "vllm serve {a,b} *.py",
        "vllm serve ~/m",
    ]
