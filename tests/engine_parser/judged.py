"""The engines judge each launch that admission lets pass: golden cases, and files of one's own.

    python -m tests.engine_parser.judged [PATH ...]

Each file is expanded as it is, and with the tag of each release in `RELEASES` in place of its own. An image
without a version is judged by the newest release, as admission does, and by the oldest that its row allows.
Each pod that starts vLLM or SGLang is started with programs that note their arguments, which the release's
own code judges (`parse.py`). A refusal, or a rank that no pod starts, needs a finding of ours about what is
refused (`announced`). Without one the row begins with NOTHING, and the status is 1.
"""

import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from catalog.engines import ENGINES, known_model
from fusioninfer.lint import documents, offline
from fusioninfer.lint.documents import Document
from hack.wheels import releases
from intent import Object, accelerators
from intent.errors import FieldError
from intent.image import Image, facts, read_image
from intent.settings import Settings
from tests.engine_parser.answers import judged
from tests.engine_parser.install import Release
from tests.engine_parser.started import arguments, pods, write_programs
from tests.golden.test_golden import CASES

RELEASES: Final = {
    "vllm": (
        *("0.8.5", "0.9.2", "0.10.2", "0.11.0", "0.11.2", "0.14.1", "0.17.1", "0.20.2", "0.22.1"),
        *("0.24.0", "0.28.0", "0.31.0", "0.33.0"),
    ),
    "sglang": ("0.4.10", "0.5.9", "0.5.23"),
}
STOCK: Final = {"vllm": "vllm/vllm-openai", "sglang": "lmsysorg/sglang"}
LAUNCHED: Final = ("--nnodes", "--node-rank", "--master-addr", "--headless", "--data-parallel-", "-n", "-r")
"""Beginnings of the flags that a launcher writes."""
NO_LAUNCHER: Final = frozenset({"FI504", "FI532"})
"""The image does not run the launcher, or none."""
ABOUT: Final = (
    (r"no pod starts the ranks|modulo by zero|external-LB", NO_LAUNCHER | {"FI316", "FI329", "FI541"}),
    (
        r"invalid device ordinal|number of available GPUs|divisible|evenly divide|world group|Ray|size",
        NO_LAUNCHER
        | {"FI104", "FI518", "FI524"}  # nothing is launched
        | {"FI307", "FI308", "FI313", "FI316", "FI541", "FI549", "FI569"},
    ),
)
"""What an engine says of values, sizes and ranks, and the findings about the same."""
FUSED: Final = re.compile(r"(?<=^-[a-z])\d+$")
"""The value in `-n2`."""
UNKNOWN: Final = re.compile(r"\$\(|--config\b")
"""Arguments that are not in the object."""
UNLIMITED: Final = 1 << 20


class Pod(NamedTuple):
    """A pod of a file that starts an engine."""

    file: str
    tag: str
    """The tag that it was given; empty: its own."""
    lws: str
    number: int
    release: Release
    words: list[str]
    facts: Object
    found: tuple[FieldError, ...]
    """The findings about its object, errors first."""


def variants(file: str) -> Iterator[tuple[str, list[Document]]]:
    """Yield the documents of a file, and those with each other release; each with the tag."""
    own, _ = documents.read_all([file])  # what cannot be read is said by the command
    yield "", own
    texts = [orjson.dumps(one.object).decode() for one in own]
    for engine, stock in STOCK.items():
        tagged = re.compile(rf'(?<={stock}):v\d[\w.]*(?=")')
        if any(map(tagged.search, texts)):
            for tag in RELEASES[engine]:
                changed = [tagged.sub(f":v{tag}", text) for text in texts]
                yield (
                    tag,
                    [replace(one, object=orjson.loads(text)) for one, text in zip(own, changed, strict=True)],
                )


def started(file: str, tag: str, given: Iterable[Document], programs: dict[str, Path]) -> Iterator[Pod]:
    """Yield the pods of a file that start an engine, each for each release that may be in its image."""
    made = offline.compose(given, Settings(), admission_only=True)
    for lws in filter(offline.is_lws, made.objects):
        name = lws["metadata"]["name"]
        said = tuple(one.error for one in made.found if name.startswith(offline_name(one.document)))
        for index, container, known in pods(lws):
            image = read_image(container.get("image", ""))
            for engine, folder in programs.items():
                if image.engine not in {engine, ""}:
                    continue
                words = arguments(container, folder, known) or ["--config"]
                for release in () if UNKNOWN.search(" ".join(words)) else releases_of(engine, image):
                    yield Pod(file, tag, name, index, release, words, about(container, image, words), said)


def offline_name(document: Document) -> str:
    """Return the name of an object; those that a controller makes of it begin so."""
    return str(document.object.get("metadata", {}).get("name", ""))


def about(container: Object, image: Image, words: list[str]) -> Object:
    """Return what the engine finds in its pod."""
    asked = accelerators.read(container.get("resources"), "", []).count
    named = [
        words[nth + 1] for nth, word in enumerate(words[:-1]) if word in {"serve", "--model", "--model-path"}
    ]
    model = known_model(ENGINES, next((one for one in named if not one.startswith("-")), ""))
    return {
        "devices": asked or UNLIMITED,
        "ray": facts(image).has_ray is not False,
        "experts": True if model is None else model.experts,
        "module": words[0] == "module",
    }


@cache
def releases_of(engine: str, image: Image) -> list[Release]:
    """Return the releases that judge an image: its own; or the newest, and the oldest of its row."""
    ordered = sorted(releases(engine))
    if image.version:
        below = [one for one in ordered if one <= image.version]
        found = below[-1:] or ordered[:1]
    else:
        least = image.least or ordered[-1]
        found = [next(one for one in map(numbers, RELEASES[engine]) if one >= least), ordered[-1]]
    return [Release(engine, ".".join(map(str, one))) for one in dict.fromkeys(found)]


def numbers(tag: str) -> tuple[int, ...]:
    return tuple(map(int, tag.split(".")))


def verdicts(each: Iterable[Pod]) -> Iterator[tuple[Pod, str]]:
    """Yield what the engine says of each pod that it refuses, and of ranks that no pod starts."""
    asked = defaultdict[Release, dict[str, list[Pod]]](lambda: defaultdict(list))
    groups = defaultdict[tuple[str, str, str, Release], list[tuple[Pod, Object]]](list)
    for one in each:
        asked[one.release][json.dumps([one.words, one.facts])].append(one)
    for release, questions in sorted(asked.items()):
        answers = judged(release, [json.loads(one) for one in questions])
        for pod, answer in (
            (pod, answer) for some, answer in zip(questions.values(), answers, strict=True) for pod in some
        ):
            groups[pod.file, pod.tag, pod.lws, release].append((pod, answer))
    for some in groups.values():
        refused = [(pod, answer["error"]) for pod, answer in some if "error" in answer]
        sizes = {answer["data"] or 1 for _, answer in some if "error" not in answer}
        started = {rank for _, answer in some for rank in answer.get("ranks", ())}
        missing = sorted(set(range(max(sizes, default=1))) - started)
        yield from refused
        if not refused and max(sizes) > 1 and missing:
            yield some[0][0], f"no pod starts the ranks {missing}"


def announced(why: str, found: Iterable[FieldError]) -> list[str]:
    """Return the codes of the findings about what an engine refuses; empty if one of its flags has none."""
    told = [(one.code, f"{one.path} {one.value} {one.message}".replace("_", "-")) for one in found]
    _, unknown, rest = why.partition("unrecognized arguments: ")
    if not unknown:
        codes = next((codes for says, codes in ABOUT if re.search(says, why)), frozenset())
        return [code for code, _ in told if code in codes]
    words = rest.split()
    flags = {FUSED.sub("", word.partition("=")[0]) for word in words if word.startswith("-")}
    if not flags:
        return [code for code, text in told if words[0] in text or code == "FI516"]
    by_flag = {
        flag: [
            code for code, text in told if flag in text or (flag.startswith(LAUNCHED) and code in NO_LAUNCHER)
        ]
        for flag in flags
    }
    return sorted({code for codes in by_flag.values() for code in codes}) if all(by_flag.values()) else []


def main(words: list[str]) -> int:
    """Print each file that an engine refuses, with the releases and our findings; 1 if one has none."""
    files = [str(case / "input.yaml") for case in CASES]
    for path in words:
        files += sorted(map(str, Path(path).rglob("*.yaml"))) if Path(path).is_dir() else [path]
    with tempfile.TemporaryDirectory() as folder:
        programs = {engine: Path(folder, engine) for engine in RELEASES}
        for engine, own in programs.items():
            own.mkdir()
            write_programs(own, engine)
        each = [
            pod
            for file in files
            for tag, given in variants(file)
            for pod in started(file, tag, given, programs)
        ]
    rows = defaultdict[tuple[str, str, str], set[str]](set)
    for pod, why in verdicts(each):
        said = ", ".join(dict.fromkeys(announced(why, pod.found))) or "NOTHING"
        rows[said, pod.file, " ".join(why.split())[-100:]].add(pod.release.version)
    for (said, file, why), versions in sorted(rows.items()):
        sys.stdout.write(f"{said}: {file}: {' '.join(sorted(versions, key=numbers))}: {why}\n")
    faults = sum(said == "NOTHING" for said, *_ in rows)
    engines = len({pod.release for pod in each})
    sys.stdout.write(
        f"summary: {len(each)} pods, {engines} releases, {len(rows)} refusals, {faults} unannounced\n"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
