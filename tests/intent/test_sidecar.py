"""The options of a routing sidecar, as the annotation writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.annotations import read
from intent.sidecar import NO_OPTIONS, STAGES, SidecarOptions, ordered, read_options

NAMES = st.sampled_from(["", "nixlv2", "shared-storage"])
STAGED = st.sets(st.sampled_from(STAGES)).map(lambda one: ordered(tuple(one)))


@given(NAMES, STAGED, STAGED, st.sampled_from(["", "certs.example"]))
def test_options_are_read_as_they_are_written(
    connector: str, tls: tuple[str, ...], unverified: tuple[str, ...], secret: str
) -> None:
    options = SidecarOptions(connector, tls, unverified, secret)

    assert str(options) == "" if options == NO_OPTIONS else read_options(str(options)) == options


def test_order_and_spaces_do_not_matter() -> None:
    assert read_options("tls=decoder+prefiller, connector=sglang") == SidecarOptions("sglang", STAGES)


@pytest.mark.parametrize(
    "text",
    [
        *("", "sglang", "connector", "connector=", "connector=A b", "connectors=sglang"),
        *("connector=a,connector=b", "tls=", "tls=both", "tls=decoder+decoder", "tls=decoder,"),
        *("secretName=A", "secretName=a/b", "insecureSkipVerify=true"),
    ],
)
def test_other_texts_are_refused_with_the_form(text: str) -> None:
    annotations, errors = read({"fusioninfer.io/service": "s", "fusioninfer.io/sidecar": text})

    assert annotations.sidecar_options == NO_OPTIONS
    assert [one.code for one in errors] == ["FI104"]
    assert "connector=NAME" in errors[0].message
