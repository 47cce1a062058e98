"""Shell scripts: the position of the engine, and scripts that are too complex."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.command_line.shell import insert, read_script, unquoted


def engine(words: tuple[str, ...]) -> int | None:
    """Return the index of the word `engine`, which may follow `exec`."""
    at = 1 if words[:1] == ("exec",) else 0
    return at if words[at : at + 1] == ("engine",) else None


def marked(text: str) -> str:
    """Mark the two positions where a launcher inserts text; empty if the script is too complex."""
    script = read_script(text, engine)
    return insert(script, "«", "»") if script else ""


@pytest.mark.parametrize(
    "text",
    [
        "«engine M -tp 8»",
        "exec «engine M»",
        "export A=1; pip install x && «engine M» || exit 1",
        "«engine M» > log 2>&1",
        "«engine M 2>&1 -tp 8» | tee log",
        "yes | «engine M»",
        "sidecar & «engine M»",
        "«engine M» # the engine of the group",
        "# engine M\n«engine M \\\n  -tp 8»\n",
        "«engine M»;",
        "«engine $MODEL ${TP:-8} `cat flags` $(cat flags) $$ $? $»",
        "N=$((LWS_WORKER_INDEX * 8)); «engine -n $N»",
        '«engine -n $(( ($LWS_GROUP_SIZE - 1) * (${N:-8} + (2 << 1)) )) "$((N % 2))"»',
        "«engine -n $(((LWS_GROUP_SIZE-1)*$(nproc)))»",
        """until [ "$(python3 -c "print(len([]), 'a')" 2>&1 || echo 0)" -ge 2 ]; do :; done; «engine M»""",
        "HEAD=$(ps | awk '{print $1 ($2)}'); «engine M»",
        """«engine "a b" 'c;d' e\\ f "g \\" h" "$X"»""",
        'if [ -n "$X" ]; then export Y=1; else Y=2; fi\n«engine M»',
        "for i in engine M; do echo $i; done; «engine M»",
        "until test -e /ready; do sleep 1; done\n«engine M»",
        "(cd /x && make) && «engine M»",
        "{ echo a; echo b; } && «engine M»",
        "echo 'engine M' \"engine M\"; «engine M»",
        '«engine M "$@"»',
        "«engine '$1' \\$@ it»; echo '$*'",
        "«engine --x=a#b»",
        ". /venv/bin/activate\n«engine M»",
        "«engine M» <flags >|log 2>>err &>all",
        "«engine ''»",
        "set -ex\n«engine M»",
    ],
)
def test_the_position_of_the_engine_is_found(text: str) -> None:
    assert marked(text.replace("«", "").replace("»", "")) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "echo M",
        "echo engine M",
        "engine A; engine B",
        "engine M &",
        "setup && engine M & wait",
        "engine M | tee log & wait",
        "for i in 1 2; do engine M; done",
        "while true; do engine M; done",
        "if true; then engine M; fi",
        "(engine M)",
        "{ engine M; }",
        "run() { engine M; }; run",
        "run () (engine M); run",
        "function run { engine M; }",
        "case $X in a) engine M;; esac",
        "cat <<EOF\nx\nEOF\nengine M",
        "cat <<-EOF\n\tx\n\tEOF\nengine M",
        "engine M <<< flags",
        'eval "exec engine M"',
        "eval $X; engine M",
        "alias e=f; engine M",
        'bash -c "engine M"',
        "FLAGS=(a b); engine M",
        "engine $(cat $(ls))",
        """engine $(echo "$(ls)")""",
        "engine $((N * 8)",
        "engine $((cat a); (cat b))",
        "engine $((1 + (2 * (3 - (4)))))",
        "engine $(($1 * 8))",
        "engine <(cat flags)",
        "engine 'M",
        'engine "M',
        "engine `M",
        "engine M\r\n",
        "engine M; fi",
        "engine M)",
        f"engine M # {'x' * 65_536}",
        "engine M; (cd x",
        "fi; if true; engine M",
        'set -- a b; engine M "$@"',
        "(cd x; engine M",
        'set -- a "$@"; engine M "$@"',
        "engine $1",
        'engine "it\'s $1"',
        "engine $*",
        "engine $@",
        'echo "$@"; engine "$@"',
        'engine "$@" -tp 8',
        "shift; engine M",
    ],
)
def test_unsupported_scripts_are_too_complex(text: str) -> None:
    assert marked(text) == ""


@pytest.mark.parametrize(
    "text", ["engine M", "\nexec engine M\n", "# c\nengine M # c\n", "engine \\\n  'a b' \"c\" d\\ e\n"]
)
def test_one_plain_command_is_simple(text: str) -> None:
    script = read_script(text, engine)

    assert script is not None
    assert script.simple


@pytest.mark.parametrize(
    "text",
    [
        "engine $M",
        'engine "$M"',
        "engine `m`",
        "engine *",
        "engine [ab]",
        "engine {a,b}",
        "engine ~/m",
        "engine > log",
        "engine M;",
        "engine M && true",
        "cd x\nengine M",
        ">log\nengine M",
        "engine --x=$(TP)",
        'engine "$@"',
    ],
)
def test_expansions_keep_the_shell(text: str) -> None:
    script = read_script(text, engine)

    assert script is not None
    assert not script.simple


def test_an_assignment_keeps_the_shell() -> None:
    script = read_script("A=1 engine M", lambda words: words.index("engine"))

    assert script is not None
    assert not script.simple


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6), max_size=5))
def test_a_plain_command_is_split_as_by_a_shell(words: list[str]) -> None:
    text = shlex.join(["engine", *words])

    script = read_script(text, engine)

    assert script is not None
    assert (script.argv, script.simple) == (("engine", *words), True)


@given(st.text("en gi\\\"'$`(){};&|<>#\n=*@1", max_size=24))
def test_any_script_is_handled_and_only_inserted_into(text: str) -> None:
    script = read_script(f"{text}\nengine M", engine)

    assert script is None or insert(script, "«", "»").replace("«", "").replace("»", "") == script.text


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a", "a"),
        ("'a b'", "a b"),
        ('"a\\$b\\"c\\d"', 'a$b"c\\d'),
        ("a\\ b", "a b"),
        ("a\\\nb", "ab"),
        ('"a\\\nb"', "ab"),
        ("''", ""),
    ],
)
def test_quotes_are_removed_as_by_a_shell(word: str, value: str) -> None:
    assert unquoted(word) == value
