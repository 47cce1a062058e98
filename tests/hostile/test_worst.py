"""The most expensive known requests cost a small multiple of parsing them, or a fixed amount."""

from collections.abc import Callable
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Final

import orjson
import pytest

from intent import Object, budget
from tests.builders.lws import changed, container, lws, put, template
from tests.builders.reviews import review
from tests.hostile import tiny, worst
from tests.hostile.fuzz import MEASURED, PATHS, outcome
from tests.hostile.server import Server
from tests.laws.convergence.schema import copied
from tests.tiers import WHOLE, some

GROWS: Final = 3.2
"""The cost of twice the input, relative: 2 would be proportional, 4 quadratic; the rest is noise."""


def answered(live: Object, turn: int) -> list[tuple[str, bytes]]:
    """Return where the reviews of an object are sent: CREATE and UPDATE by turns, in the soak all to both."""
    sent = worst.written(live)
    return [*(product(PATHS, sent) if WHOLE else zip([*PATHS, *PATHS][turn % 2 :], sent, strict=False))]


@pytest.mark.parametrize(("turn", "name"), [*enumerate(worst.REVIEWED)])
def test_a_request_costs_no_more_than_its_limit(turn: int, name: str) -> None:
    for path, sent in answered(worst.REVIEWED[name](), turn):
        assert outcome(path, sent) != "malformed"


def test_tiny_things_cost_no_more_than_their_limit_wherever_they_are() -> None:
    chosen = some([*product(tiny.PLACES, tiny.THINGS)], "TINY_THINGS")
    for turn, ((kind, place), things) in enumerate(chosen):
        for path, sent in answered(tiny.tiny(kind, place, things, tiny.MOST), turn):
            assert outcome(path, sent) != "malformed", (kind, place, things)


UNITS: Final = {
    "commands": "a;",
    "words": "a ",
    "engines": "vllm serve m;",
    "redirections": "a>b;",
    "reserved words": "if a;then b;fi;",
    "quotes": "'a'\"$b\" ",
    "substitutions": '"$(a)" ',
    "assignments": "A=b ",
    "prefixes": "exec env ",
    "comments": "# a comment\n",
    "pipes": "a|b&&",
}


def _script(unit: str, times: int) -> Object:
    return worst.shell(unit, breaks=budget.BREAKS.most * times // 2)


MANY: Final[dict[str, Callable[[int], Object]]] = {
    **{f"a script of {name}": partial(_script, unit) for name, unit in UNITS.items()},
    "flags": lambda times: worst.engine(*worst.flags(1_000 * times, "--option-{at}")),
    "known flags": lambda times: worst.engine(*worst.flags(1_000 * times, "--max-model-len")),
    "transfer flags": lambda times: worst.engine(*worst.flags(900 * times, "--kv-transfer-config.a{at}.b")),
    "positional": lambda times: worst.engine(*["x"] * 2_000 * times),
    "prefixes": lambda times: worst.engine(*["exec"] * 2_000 * times, command=["env"]),
    "python": lambda times: worst.engine(*["python3", "-x"] * 1_000 * times, command=["env"]),
    "references": lambda times: worst.engine("--port", "$(A1)" * 5_000 * times, env=worst.env(1_000)),
    "variables": lambda times: worst.engine(
        *(f"--x{at}=$(A{at})" for at in range(1_000 * times)), env=worst.env(1_000 * times)
    ),
    "containers": lambda times: lws(
        worker=template(*(container(f"c{at}", resources=None) for at in range(50 * times)))
    ),
    "ports": lambda times: worst.engine(ports=[{"containerPort": at} for at in range(5_000 * times)]),
    "mounts": lambda times: worst.engine(
        volumeMounts=[{"name": "v", "mountPath": f"/{at}"} for at in range(5_000 * times)]
    ),
    "volumes": lambda times: lws(
        worker=template(container(), volumes=[{"name": f"dshm-{at}"} for at in range(5_000 * times)])
    ),
    "labels": lambda times: lws(
        worker=template(container())
        | {"metadata": {"labels": {f"example.com/label-{at}": "x" for at in range(1_000 * times)}}}
    ),
    "managed fields": lambda times: changed(
        lws(), "metadata.managedFields", [{"fieldsV1": {f"f:field-{at}": {}}} for at in range(1_000 * times)]
    ),
    "a long value": lambda times: worst.engine(env=[{"name": "A", "value": "word " * 20_000 * times}]),
    "parts": lambda times: lws(skip=",".join(f"r{at}" for at in range(300 * times))),
    "roles": lambda times: lws(roles=",".join(f"r{at}" for at in range(300 * times))),
    "annotations": lambda times: lws(**{f"x{at}": "x" for at in range(120 * times)}),  # type: ignore[arg-type] # annotations of any name
    # more than the object has, at any size: what matches it takes fewer steps
    "a record": lambda times: lws(
        expansion=worst.forged(2_000 * times), worker=template(container(env=worst.env(1_000)))
    ),
    "plugins": lambda times: worst.configured(worst.plugins(15 * times)),
    "lines of YAML": lambda times: worst.configured(worst.HEAD + "\n" * 4_000 * times),
}
"""Objects whose size can be doubled."""


@pytest.mark.parametrize(("name", "path"), [*(product(MANY, PATHS) if WHOLE else zip(MANY, cycle(PATHS)))])
def test_the_cost_does_not_grow_quadratically(name: str, path: str) -> None:
    """Compare the least of several costs, taken in turn: other processes only slow a call down."""
    sent = [orjson.dumps(review(live)) for live in map(MANY[name], (1, 2))]
    costs: list[list[float]] = [[], []]

    def grows() -> bool:
        for body, found in zip(sent, costs, strict=True):
            found.append(worst.cost(PATHS[path], body))
        return min(costs[1]) > GROWS * min(costs[0]) + worst.reference(2)

    assert not all(grows() for _ in range(MEASURED))


@pytest.mark.parametrize("path", PATHS)
def test_the_cost_does_not_grow_quadratically_with_containers_that_go(path: str) -> None:
    """The budget counts what is sent. What was stored may be larger: `inject: disabled` has no budget."""
    plain = put(lws(launcher="vllm-native"))

    def sent(containers: int) -> bytes:
        old: Object = copied(plain)
        for name in ("leaderTemplate", "workerTemplate"):
            pods = old["spec"]["leaderWorkerTemplate"][name]["spec"]
            pods["containers"] += [{"name": f"c{at}", "image": "x"} for at in range(containers)]
        return orjson.dumps(review(plain, old))

    half, whole = (worst.cost(PATHS[path], sent(many), 3) for many in (400, 800))

    assert whole <= GROWS * half + worst.reference(2)


def _memory(server: Server) -> int:
    """Return the memory of the webhook and of its second process, in bytes."""
    texts = [file.read_text() for file in Path("/proc").glob("[0-9]*/status") if file.exists()]
    found = [text for text in texts if f"PPid:\t{server.process.pid}\n" in text]
    return server.memory() + sum(int(text.partition("VmRSS:")[2].split()[0]) * 1024 for text in found)


def test_hostile_requests_do_not_stay_in_memory(fresh: Server) -> None:
    big = orjson.dumps(review(lws(worker=template(container(image="vllm/0" + "x" * 2_000_000)))))
    for _ in range(10):
        fresh.send(big)
    before = _memory(fresh)

    for at in range(40):
        fresh.send(big.replace(b"vllm/0", b"vllm/%d" % (at + 1_000)))

    assert _memory(fresh) - before < 20_000_000
