"""One field per annotation: what follows from it, and which values it accepts."""

from typing import Final

import pytest

from intent import annotations
from intent.annotations import KEYS, PREFIX, Annotations, read
from intent.inferenceservice.topology import ELSEWHERE, OF_THE_WHOLE, PASSED

CONSTANTS: Final = {
    value
    for name, value in vars(annotations).items()
    if name.isupper() and name != "PREFIX" and isinstance(value, str) and value.startswith(PREFIX)
}


def test_every_constant_is_the_key_of_one_field() -> None:
    assert {row.key for row in KEYS.values()} == CONSTANTS


def test_every_annotation_has_one_use_on_an_inferenceservice() -> None:
    assert sorted((*PASSED, *OF_THE_WHOLE, *ELSEWHERE)) == sorted(CONSTANTS)


def test_an_object_without_annotations_has_all_defaults() -> None:
    assert read({}) == (Annotations(role_name="worker"), [])


def test_an_invalid_annotation_keeps_its_default_and_the_rest_is_read() -> None:
    found, errors = read({PREFIX + "service": "s", PREFIX + "skip": "all", PREFIX + "picker-replicas": "3"})

    assert (found.service, found.skip, found.routing.picker_replicas) == ("s", (), 3)
    assert [error.code for error in errors] == ["FI104"]


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("service", "a" * 63, True),
        ("service", "a" * 64, False),
        ("service", "1a", False),
        ("role-name", "1a", True),
        ("role-name", "", False),
        ("gateway", "ns/a.b", True),
        ("gateway", "a.b", True),
        ("gateway", f"ns/{'a' * 64}.b", True),
        ("gateway", "a" * 253, True),
        ("gateway", "a" * 254, False),
        ("gateway", "/a", False),
        ("gateway", "a.b/c", False),
        ("hostnames", "*.a.b, c", True),
        ("hostnames", "a,a", False),
        ("hostnames", "a..b", False),
        ("hostnames", f"{'a' * 64}.b", False),
        ("roles", "a,,b", False),
        ("picker-replicas", "10", False),
    ],
)
def test_values_follow_the_grammar_of_kubernetes_names(key: str, value: str, *, accepted: bool) -> None:
    _, errors = read({PREFIX + "service": "s", PREFIX + key: value})

    assert (not errors) == accepted


@pytest.mark.parametrize("key", ["inject", "paused", "expansion"])
def test_annotations_that_change_no_expansion_do_not_count_in_a_comparison(key: str) -> None:
    value = {"inject": "disabled", "paused": "true"}.get(key, "{}")

    plain, _ = read({PREFIX + "service": "s"})
    found, errors = read({PREFIX + "service": "s", PREFIX + key: value})

    assert (found, errors) == (plain, [])
    assert getattr(found, key)
