"""The KV transfer configuration, in every spelling."""

from typing import Any

import pytest

from catalog.engines import ENGINES
from intent.launch import read_launch
from intent.lws import Engine, Template
from intent.ranks import Transfer, read_transfer

JSON = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
MULTI = (
    '{"kv_connector":"MultiConnector","kv_connector_extra_config":'
    '{"connectors":[{"kv_connector":"NixlConnector"},{"kv_connector":7},3]}}'
)


def read(*args: str, variables: tuple[tuple[str, str | None], ...] = ()) -> Transfer | None:
    """Read the configuration of one command of vLLM."""
    engine = Engine("vllm", command=("vllm", "serve"), args=("M", *args), variables=variables)
    return read_transfer(read_launch(Template("workerTemplate", engine), engine, ENGINES))


@pytest.mark.parametrize(
    "args",
    [
        ["--kv-transfer-config", JSON],
        [f"--kv_transfer_config={JSON}"],
        ["--kv-transfer-config.kv_connector", "NixlConnector", "--kv-transfer-config.kv_role=kv_both"],
        [
            "--kv-transfer-config",
            '{"kv_connector":"NixlConnector"}',
            "--kv-transfer-config.kv_role",
            "kv_both",
        ],
    ],
)
def test_every_spelling_is_read_alike(args: list[str]) -> None:
    found = read(*args)

    assert found is not None
    assert found.config == {"kv_connector": "NixlConnector", "kv_role": "kv_both"}


def test_a_dotted_flag_sets_a_nested_key() -> None:
    found = read("--kv-transfer-config.kv_connector_extra_config.http_port", "8000")

    assert found is not None
    assert found.config == {"kv_connector_extra_config": {"http_port": 8000}}


@pytest.mark.parametrize(
    "args", [[], *(["--kv-transfer-config", text] for text in ("$(KV)", "{'a': 1}", "[1]", "7", "{", ""))]
)
def test_an_absent_unknown_or_unreadable_configuration_is_none(args: list[str]) -> None:
    assert read(*args) is None


def test_a_variable_with_a_literal_value_is_read() -> None:
    found = read("--kv-transfer-config", "$(KV)", variables=(("KV", JSON),))

    assert found is not None
    assert found.connectors == ("NixlConnector",)


@pytest.mark.parametrize(
    ("text", "connectors"),
    [(JSON, ("NixlConnector",)), (MULTI, ("MultiConnector", "NixlConnector")), ('{"kv_connector":{}}', ())],
)
def test_connectors_of_a_multi_connector_are_listed(text: str, connectors: Any) -> None:
    found = read("--kv-transfer-config", text)

    assert found is not None
    assert found.connectors == connectors
