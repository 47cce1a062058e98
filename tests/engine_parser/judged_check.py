"""The engines judge each launch, and the judge refuses what they refuse: `make soak SOAK=catalogue`."""

from typing import Any, Final

import pytest

from catalog.flags import flag_tables
from hack.wheels import releases
from intent.command_line.spelling import Spelling
from tests.engine_parser.answers import flags, judged
from tests.engine_parser.install import Release
from tests.engine_parser.judged import RELEASES, Pod, main, numbers, verdicts

POD: Final = {"devices": 8, "ray": False, "experts": True, "module": False}
JOINED: Final = "--nnodes 2 --node-rank 1 --headless --master-addr x"
LOCAL: Final = "-dp 16 --data-parallel-size-local 8"
OTHERS: Final = f"{LOCAL} --data-parallel-start-rank 8 --data-parallel-address x --headless"
PORTS: Final = f"{LOCAL} --data-parallel-multi-port-external-lb"
NIXL: Final = '--kv-transfer-config {"kv_connector":"NixlConnector",%s}'
RIGHT: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("0.8.5 0.17.1 0.33.0", "-tp 8", {}),
    ("0.8.5 0.10.2", "-tp 16", {"ray": True}),
    ("0.9.2 0.17.1 0.33.0", OTHERS, {}),
    ("0.14.1 0.33.0", f"-tp 16 {JOINED}", {}),
    ("0.17.1 0.33.0", f"-dp 2 -tp 8 {JOINED}", {}),
    ("0.28.0", f"-dp 2 -tp 8 {JOINED}", {"experts": False}),
    ("0.24.0 0.33.0", PORTS, {}),
    ("0.10.2 0.33.0", NIXL % '"kv_role":"kv_both"', {}),
    ("0.11.0", "--tensor-parallel-size=2 --trust-remote-code --no-enable-prefix-caching", {}),
)
WRONG: Final[tuple[tuple[str, str, dict[str, Any], str], ...]] = (
    ("0.8.5 0.33.0", "--tensor-paralel-size 8", {}, "unrecognized arguments"),
    ("0.8.5 0.10.2", f"-tp 8 {JOINED}", {}, "unrecognized arguments"),
    ("0.8.5 0.33.0", "-tp eight", {}, "invalid int value"),
    ("0.11.0", "--kv-cache-dtype xy", {}, "invalid choice"),
    ("0.33.0", "--max-lora-rank 17", {}, "invalid choice"),
    ("0.33.0", "--lora-modules sql", {}, "Invalid JSON"),
    ("0.33.0", "--kv-transfer-config {kv", {}, "argument --kv-transfer-config"),
    ("0.10.2 0.33.0", NIXL % '"kv_role":"kv_bot"', {}, "Input should be"),
    ("0.33.0", NIXL % '"kv_role":"kv_both","kv_rank":0', {}, "Unexpected keyword"),
    ("0.10.2", "-tp 16", {}, "Unable to load Ray"),
    ("0.17.1 0.33.0", "-tp 16", {"ray": True}, "larger than the number of available GPUs"),
    ("0.33.0", "--distributed-executor-backend ray", {}, "Ray"),
    ("0.14.1", f"-tp 15 {JOINED}", {}, "must be divisible by nnodes=2"),
    ("0.33.0", f"-tp 15 {JOINED}", {}, "must evenly divide"),
    ("0.17.1", f"-tp 16 {JOINED}", {}, "inner dp world group"),
    ("0.17.1", f"-dp 2 -tp 8 {JOINED}", {"experts": False}, "engines of their own"),
    ("0.11.2", f"-dp 16 {JOINED}", {}, "nnodes > 1 can only be set"),
    ("0.20.2 0.33.0", f"{OTHERS} --data-parallel-hybrid-lb", {}, "headless"),
    ("0.20.2 0.33.0", f"-tp 8 -dp 2 {JOINED} --api-server-count 2", {}, "headless"),
    ("0.24.0 0.33.0", f"{PORTS} --data-parallel-external-lb", {}, "more than one|cannot be combined"),
    ("0.24.0", "-dp 2 --data-parallel-rank 0", {"experts": False}, "Non-MoE"),
    ("0.28.0", f"{PORTS} --nnodes 2 --node-rank 0", {}, "each child gets the rank|ZeroDivisionError"),
    ("0.33.0", "-tp 8 -dp 2", {}, "invalid device ordinal"),
)
SGLANG: Final[tuple[tuple[str, str, dict[str, Any], str], ...]] = (
    ("0.4.10 0.5.9 0.5.23", "--tp 16 --nnodes 2 --node-rank 1 --dist-init-addr x:1", {}, ""),
    ("0.4.10 0.5.9 0.5.23", "--tp 16 --dp 2 --enable-dp-attention --nnodes 2 --node-rank 1", {}, ""),
    ("0.4.10 0.5.9 0.5.23", "--tp 15 --nnodes 2 --node-rank 1", {}, "divisible"),
    ("0.4.10 0.5.9 0.5.23", "--tp 8 --dp 2 --nnodes 2 --node-rank 1", {}, "multi-node data"),
    ("0.4.10 0.5.9 0.5.23", "--tensor-paralel-size 8", {}, "unrecognized arguments"),
    ("0.4.10 0.5.9 0.5.23", "--tp-size eight", {}, "invalid int value"),
    ("0.4.10 0.5.9 0.5.23", "--enable-lora=false", {}, "ignored explicit argument|invalid"),
    ("0.4.10 0.5.9 0.5.23", "--trust-remote-code=true", {}, "ignored explicit argument"),
    ("0.5.9 0.5.23", "--disaggregation-mode prefil", {}, "invalid choice"),
    ("0.4.10 0.5.9 0.5.23", "--tp 16", {}, "invalid device ordinal"),
)
ASKED: Final = [
    (Release(engine, version), words, pod, says)
    for engine, rows in (("vllm", [*((*row, "") for row in RIGHT), *WRONG]), ("sglang", SGLANG))
    for versions, words, pod, says in rows
    for version in versions.split()
]


@pytest.mark.parametrize("release", sorted({release for release, *_ in ASKED}))
def test_an_engine_says_what_its_release_says(release: Release) -> None:
    asked = [one for one in ASKED if one[0] == release]
    model = ["serve", "org/M"] if release.engine == "vllm" else ["serve", "--model-path", "org/M"]

    answers = judged(release, [([*model, *words.split()], POD | pod) for _, words, pod, _ in asked])

    told = [
        (says, answer.get("error", ""), words)
        for (_, words, _, says), answer in zip(asked, answers, strict=True)
    ]
    assert [
        one for one in told if not (any(x in one[1] for x in one[0].split("|")) if one[0] else not one[1])
    ] == []


@pytest.mark.parametrize("release", [Release(name, tag) for name, tags in RELEASES.items() for tag in tags])
def test_the_catalogue_has_exactly_the_flags_of_the_parser(release: Release) -> None:
    table, theirs, version = flag_tables()[release.engine], flags(release), numbers(release.version)
    known = Spelling(release.engine, table)
    ours = {flag for flag in table.spans if flag[:2] == "--" and not table.lacks(flag, version)}

    assert (ours - theirs, {flag for flag in theirs if not known.accepts(flag, version)}) == (set(), set())


def test_a_rank_that_no_pod_starts_is_told() -> None:
    release = Release("vllm", "0.33.0")
    some = [
        Pod("f", "", "x", at, release, ["serve", "org/M", *words.split()], POD, ())
        for at, words in enumerate(
            (f"{LOCAL} --data-parallel-hybrid-lb", f"{LOCAL} --data-parallel-hybrid-lb")
        )
    ]

    assert [why for _, why in verdicts(some)] == ["no pod starts the ranks [8, 9, 10, 11, 12, 13, 14, 15]"]


def test_each_launch_is_accepted_or_announced(capsys: pytest.CaptureFixture[str]) -> None:
    status = main([])

    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("NOTHING")] == []
    assert status == 0


def test_the_newest_releases_judge() -> None:
    assert {engine: max(releases(engine)) for engine in RELEASES} == {
        engine: tuple(map(int, own[-1].split("."))) for engine, own in RELEASES.items()
    }
