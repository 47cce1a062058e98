"""A fuzzer: damaged reviews of real objects, and the properties that every answer must have.

python -m tests.hostile.fuzz SECONDS     run for so long; a failure prints how to repeat it
python -m tests.hostile.fuzz /mutate BASE64     answer one body again, with the traceback
"""

import json
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import hypothesis
import jsonpatch
import orjson
from hypothesis import strategies as st

from intent import Object, budget
from tests.builders.lws import container, lws, put, template
from tests.builders.reviews import review
from tests.hostile import worst
from tests.hostile.objects import files, paths, replaced, without
from tests.hostile.tiny import FAR_OVER, MOST, PLACES, THINGS, tiny
from webhook import review as reviews
from webhook.review import WARNING_LENGTH, AdmissionAnswer, Malformed

BOUND: Final = 3
"""The factor by which a request may miss the target of `tests.hostile.worst`, since machines are busy."""
LITTLE: Final = 0.02
"""CPU seconds below which no request is measured again: less than any limit."""
MEASURED: Final = 10
"""How often a request is measured before it counts as slow."""
PATHS: Final[dict[str, Callable[[bytes], AdmissionAnswer]]] = {
    "/mutate": reviews.mutate,
    "/validate": reviews.validate,
}
HOLE: Final = "\x00hole\x00"
SCALARS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, 2**63, 2**64 - 1, -(2**63)),
    *(
        *("", "x", "\x00", "\x1b[31m\n", "é" * 50, "\U0001f4a5", "~1/~0", "-1", "9" * 40, "1e999"),
        *("0x10", "$(X)"),
    ),
    *("{{", "a b", "'", "vllm serve m", "ray symmetric-run", "true", "null", "volcano", "8Gi", "1m"),
)
KEYS: Final = (
    *("name", "value", "valueFrom", "containers", "spec", "metadata", "$patch", "$copy", "", "x" * 1000),
)
junk = st.recursive(
    st.sampled_from(SCALARS) | st.text(max_size=8) | st.integers() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@cache
def objects() -> st.SearchStrategy[Object]:
    """Draw an object as its author wrote it, or as it is stored."""
    return st.sampled_from((*files(), *map(put, files())))


@st.composite
def harmed(draw: st.DrawFn, value: Any) -> Any:
    """Remove a few values, or replace them with junk, a part of another object, or null."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.sampled_from(list(paths(value))))
        if draw(st.booleans()):
            value = without(value, at)
        else:
            value = replaced(value, at, draw(junk | st.just(HOLE) | objects()))
        if not list(paths(value)):
            break
    return value


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Draw a body: usually a review, sometimes deeply nested, cut off, or with a changed byte."""
    whole = draw(objects())
    live = draw(harmed(whole))
    old = draw(st.none() | st.just(live) | harmed(whole) | harmed(draw(objects())))
    whole = review(live, old)
    if draw(st.integers(0, 9)) == 0:
        whole = draw(harmed(whole))
    depth = draw(st.integers(0, 1100))
    left, right = draw(st.sampled_from([(b"[", b"]"), (b'{"a":', b"}")]))
    try:
        body = orjson.dumps(whole)
    except TypeError:  # an integer of more than 64 bits
        body = b"{}"
    body = body.replace(orjson.dumps(HOLE), left * depth + b"1" + right * depth)
    return draw(broken(body)) if draw(st.integers(0, 9)) == 0 else body


UNITS: Final = (
    *("a;", "a ", "vllm serve m;", "'a' ", '"$b"', "$(a)", "\\", "# a\n", "a>b ", "python -x "),
    *("if a;then ", "\n", "{"),
)
FLAGS: Final = (
    *("--option-{at}", "--max-model-len", "-x{at}", "--kv-transfer-config.a{at}.b", "--a_{at}=$(A{at})"),
    *("x", "--"),
)
LINES: Final = (
    *("k{at}: x\n", "- a\n", "- {{name: a{at}, type: x}}\n", "[", "{{", "? ", "&a{at} ", "*a "),
    *('"\\x41"', "\n", "a: "),
)


@st.composite
def large(draw: st.DrawFn) -> bytes:
    """Draw an object that is large in a few respects, up to the limits and beyond."""
    count = st.integers(0, 4).flatmap(lambda digits: st.integers(0, 10**digits))
    text = "".join(draw(st.sampled_from(UNITS)) * draw(count) for _ in range(draw(st.integers(1, 3))))
    spelled = draw(st.sampled_from(FLAGS))
    flags = [spelled.format(at=at) for at in range(draw(count)) for _ in range(2)]
    env = [
        {"name": f"A{at}", "value": draw(st.sampled_from(UNITS))} for at in range(draw(st.integers(0, 20)))
    ]
    env += [{"name": f"B{at}", "value": "$(A0)"} for at in range(draw(count))]
    scripted = container(command=["sh", "-c"], args=[text + draw(st.sampled_from(("", "vllm serve m")))])
    plain = container(args=["m", *flags], env=env)
    names = range(draw(st.integers(0, 120)))
    beside = [container(f"c{at}", resources=None, args=flags[:20]) for at in names]
    line = draw(st.sampled_from(LINES))
    config = "".join(line.format(at=at) for at in range(draw(count)))
    live = lws(
        worker=template(draw(st.sampled_from((scripted, plain))), *beside),
        strategy="prefix-cache",
        endpoint_picker_config=config,
    )
    stored = draw(st.booleans())
    return orjson.dumps(review(put(live) if stored else live, draw(st.none() | st.just(live))))


@st.composite
def crowded(draw: st.DrawFn) -> bytes:
    """Draw an object with many tiny things in one place, around the limit or far over it."""
    count = st.integers(1, MOST) | st.sampled_from((MOST, budget.ITEMS.most, FAR_OVER // 3))
    places = st.tuples(st.sampled_from(PLACES), st.sampled_from(tuple(THINGS)), count)
    (kind, path), things, many = draw(places)
    live = tiny(kind, path, things, many)
    stored = draw(st.booleans()) and kind == "LeaderWorkerSet"
    old = draw(st.none() | st.just(live) | st.just(tiny(kind, path, things, many // 2)))
    return orjson.dumps(review(put(live) if stored else live, old))


def broken(body: bytes) -> st.SearchStrategy[bytes]:
    """Cut a body off, or replace bytes of it."""
    places = st.integers(0, len(body))
    put_in = st.binary(max_size=3) | st.sampled_from(
        [b"NaN", b"1e400", b'"\\ud800"', b"\xef\xbb\xbf", b"\x00"]
    )
    return places.map(lambda at: body[:at]) | st.builds(
        lambda at, more: body[:at] + more + body[at + len(more) :], places, put_in
    )


def holds(path: str, body: bytes) -> str:
    """Answer a body that was drawn, check the answer, and return the outcome."""
    hypothesis.note(f"python -m tests.hostile.fuzz {path} {b64encode(body).decode()}")
    return outcome(path, body)


def outcome(path: str, body: bytes) -> str:
    """Answer a body, check the answer and its cost, and return the outcome."""
    begun = time.thread_time()
    try:
        answer = PATHS[path](body)
    except Malformed:
        return "malformed"
    finally:
        spent = time.thread_time() - begun
    assert spent < LITTLE or is_quick(path, body)
    check(path, json.loads(body.decode(errors="replace")), orjson.loads(answer.body))
    return answer.outcome


def is_quick(path: str, body: bytes) -> bool:
    """Return whether a request stays within its cost limit; measure again if it seems slow."""

    return any(worst.cost(PATHS[path], body) <= BOUND * worst.allowed(body, 1) for _ in range(MEASURED))


def check(path: str, sent: Any, answer: Any) -> None:
    """Check an answer as an API server would, and its size limits."""
    response = answer["response"]
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert response["uid"] == sent["request"]["uid"]
    assert ("patch" in response) == ("patchType" in response)
    assert all(len(text) <= WARNING_LENGTH and text.isascii() for text in response.get("warnings", ()))
    assert all(0 < len(text.encode()) <= 256 for text in response.get("auditAnnotations", {}).values())
    if path == "/mutate":
        assert response["allowed"] is True
        patch = b64decode(response.get("patch", "W10="))
        jsonpatch.apply_patch(sent["request"]["object"], patch, in_place=True)
    else:
        assert "patch" not in response
        assert len(orjson.dumps(response.get("status", {}))) <= 3 * 4096


def run(seconds: float) -> int:
    """Try bodies for so many seconds; return their number."""
    end, tried = time.monotonic() + seconds, 0

    @hypothesis.settings(
        max_examples=100,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(bodies() | large() | crowded())
    def some(body: bytes) -> None:
        nonlocal tried
        tried += 1
        for path in PATHS:
            holds(path, body)

    while time.monotonic() < end:
        some()
    return tried


def main(arguments: list[str]) -> None:
    """Run for a while, or answer one body again."""
    if len(arguments) == 2:
        print(PATHS[arguments[0]](b64decode(arguments[1])))  # noqa: T201 - that is what it is for
    else:
        print(f"{run(float(arguments[0]))} bodies, each answered on both paths")  # noqa: T201 - the output of the command


if __name__ == "__main__":
    main(sys.argv[1:])
