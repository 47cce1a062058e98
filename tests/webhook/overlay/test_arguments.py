"""Edits of launched arguments, made to the author's own."""

import time
from typing import Any

import pytest

from webhook.overlay.arguments import Arguments, transferred

AUTHOR = Arguments(("vllm", "serve"), ("org/M", "-tp", "8"))
RAY = ("symmetric-run", "--", "vllm", "serve")
INJECTED = Arguments(("ray",), (*RAY, "org/M", "-tp", "8"))


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ((*RAY, "org/M", "-tp", "8"), ("org/M", "-tp", "8")),
        ((*RAY, "org/M", "-tp", "16"), ("org/M", "-tp", "16")),
        ((*RAY, "org/M", "-tp", "8", "--seed", "1"), ("org/M", "-tp", "8", "--seed", "1")),
        ((*RAY, "org/M"), ("org/M",)),
        ((*RAY, "org/N", "-tp", "8"), ("org/N", "-tp", "8")),
        ((*RAY, "org/M", "-tp", "8", ""), ("org/M", "-tp", "8", "")),
        ((*RAY, "org/M", "-tp", "8", "\0", "\0\0"), ("org/M", "-tp", "8", "\0", "\0\0")),
        ((*RAY, "org/M", "-tp", "8\0 x"), ("org/M", "-tp", "8\0 x")),
        (("start", "--", "vllm", "serve", "org/M", "-tp", "8"), None),
        (("symmetric-run", "--", "org/M", "-tp", "8"), ("org/M", "-tp", "8")),
    ],
)
def test_an_edit_is_made_to_the_authors_arguments(args: Any, wanted: Any) -> None:
    found = transferred(AUTHOR, INJECTED, Arguments(("ray",), args))

    assert (found.args if found else None) == wanted


@pytest.mark.parametrize(
    ("author", "injected", "edited", "wanted"),
    [
        ("-tp 8", "org/M -tp 8", "--model org/M -tp 8", None),
        ("-tp 8", "org/M -tp 8", "--seed 1 org/M -tp 8", "--seed 1 -tp 8"),
        ("-tp 8", "org/M -tp 8", "--seed=1 org/M -tp 8", "--seed=1 -tp 8"),
        ("--seed 1 -tp 8", "--seed 1 org/M -tp 8", "--seed 2 --tokenizer org/M -tp 8", None),
    ],
)
@pytest.mark.parametrize("is_script", [False, True])
def test_no_flag_gets_a_word_of_the_launcher_as_its_value(
    author: str, injected: str, edited: str, wanted: str | None, *, is_script: bool
) -> None:
    one, other, third = (
        Arguments(None, (f"vllm serve {each}",) if is_script else tuple(each.split()))
        for each in (author, injected, edited)
    )
    found = transferred(one, other, third)

    assert (" ".join(found.args or ()).removeprefix("vllm serve ") if found else None) == wanted


def test_edits_at_both_ends_of_long_arguments_are_made() -> None:
    flags = tuple(f"--option-{at}=1" for at in range(700))
    edited = ("--first=2", *flags[1:-1], "--last=2")

    found = transferred(
        Arguments(None, flags), Arguments(("ray",), (*RAY, *flags)), Arguments(("ray",), (*RAY, *edited))
    )

    assert found == Arguments(None, edited)


@pytest.mark.parametrize("words", [300, 500, 900])
def test_an_edit_of_every_word_is_cheap(words: int) -> None:
    author = tuple(f"a{at}" for at in range(words))
    edited = tuple(f"b{at}" for at in range(words))
    since = time.thread_time()

    transferred(
        Arguments(None, author),
        Arguments(("ray",), (*RAY, *author, "x")),
        Arguments(("ray",), (*RAY, *edited, "x")),
    )

    assert time.thread_time() - since < 0.1
