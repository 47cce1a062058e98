"""The sidecar of a decoder: its container, the engine's new port, and the cases without one."""

from copy import deepcopy
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object
from intent.read import read
from intent.served import recorded
from intent.settings import Settings
from tests.builders.lws import PREFIX, changed, container, engine_of, lws, pod_spec, put, template
from tests.laws.convergence.hands import opt_out
from webhook.check import check
from webhook.expand import expand
from webhook.move import PORTS
from webhook.mutate import input_of
from webhook.mutate.sidecar import SECURITY
from webhook.review import WARNING_LENGTH

GROUP: Final = "spec.leaderWorkerTemplate"
HEALTH: Final = {"httpGet": {"path": "/health", "port": 8000}}
DECODER: Final = {"component_type": "decoder", "strategy": "pd-disaggregation"}
STRATEGY: Final = "metadata.annotations.fusioninfer.io/strategy"
IMAGES: Final = ("vllm/vllm-openai:v0.20.0", "vllm/vllm-openai:v0.20.1")
LOOP: Final = "while true; do vllm serve M; done"


def decoder(*containers: Object, size: int = 1, leader: Object | None = None, **annotations: str) -> Object:
    """Return a decoder of a disaggregated service."""
    return lws(size, template(*containers), leader, **(DECODER | annotations))


def proxies(expanded: Object, field: str = "workerTemplate") -> list[Object]:
    """Return the sidecars of a template."""
    return [
        item
        for item in pod_spec(expanded, field).get("initContainers", [])
        if item["name"] == "routing-proxy"
    ]


def words(expanded: Object, field: str = "workerTemplate") -> list[str]:
    """Return command and args of the engine."""
    one = engine_of(expanded, field)
    return [*one.get("command", []), *one.get("args", [])]


def codes(live: Object, old: Object | None = None) -> list[str]:
    """Return the codes of all findings about the expanded object."""
    return [found.code for found in check(put(live, old), old)]


# --- command and args -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "args", "written"),
    [
        (None, ["M"], ["M", "--port", "8200"]),
        (None, ["--port", "9000", "--model", "M"], ["--port", "8200", "--model", "M"]),
        (None, ["M", "--port=9000", "-tp", "8"], ["M", "--port=8200", "-tp", "8"]),
        (None, ["M", "--por=9000"], ["M", "--por=8200"]),
        (None, ["M", "--port", "8200"], ["M", "--port", "8201"]),
        (None, ["M", "--port", "1", "--port", "2"], ["M", "--port", "1", "--port", "8200"]),
        (None, ["serve", "M"], ["serve", "M", "--port", "8200"]),
        (["vllm", "serve", "M"], None, ["vllm", "serve", "M", "--port", "8200"]),
        (
            ["vllm", "serve", "M", "--port", "1"],
            ["-tp", "8"],
            ["vllm", "serve", "M", "--port", "8200", "-tp", "8"],
        ),
        (["sh", "-c", "vllm serve M --port=1"], None, ["vllm", "serve", "M", "--port=8200"]),
        (
            ["sh", "-c", "cd / && vllm serve $M --x 2>&1 | cat"],
            None,
            ["sh", "-c", "cd / && vllm serve $M --x --port 8200 2>&1 | cat"],
        ),
        (
            ["tini", "--", "sh", "-c", "exec vllm serve M"],
            None,
            ["tini", "--", "vllm", "serve", "M", "--port", "8200"],
        ),
        (
            ["sh", "-c", 'exec vllm serve "$@"', "--"],
            ["M"],
            ["sh", "-c", 'exec vllm serve "$@"', "--", "M", "--port", "8200"],
        ),
    ],
)
def test_the_engine_listens_on_another_port(
    command: list[str] | None, args: list[str] | None, written: list[str]
) -> None:
    assert words(put(decoder(container(command=command, args=args)))) == written


def test_a_launcher_that_writes_into_the_script_keeps_the_moved_port() -> None:
    shell = ["sh", "-c", 'exec vllm serve "$@"', "--"]
    one = container(command=shell, args=["M", "-tp", "16"], image="vllm/vllm-openai:v0.10.2")

    expanded = put(decoder(one, size=2))

    assert words(expanded, "leaderTemplate")[4:] == ["M", "-tp", "16", "--port", "8200"]


# --- the pod ----------------------------------------------------------------------------------------


def test_the_sidecar_is_the_last_init_container_and_is_kept() -> None:
    live = decoder(container(args=["M", "-tp", "16"]), size=2)
    live = changed(live, f"{GROUP}.workerTemplate.spec.initContainers", [{"name": "load", "image": "x"}])

    found = pod_spec(put(live), "leaderTemplate")["initContainers"]

    assert [item["name"] for item in found] == ["load", "wait-for-leader", "routing-proxy"]
    assert found[-1]["restartPolicy"] == "Always"


def test_the_sidecar_is_that_of_the_endpoint_picker_and_restricted() -> None:
    row = PICKERS[Settings().disaggregated_picker].sidecar

    (proxy,) = proxies(put(decoder()))

    assert row is not None
    assert proxy["image"] == row.image
    assert proxy["args"][2:] == [f"{row.connector}={row.connectors[0]}", "--secure-proxy=false"]
    assert proxy["securityContext"] == SECURITY
    assert [item["name"] for item in proxy["env"]] == ["POD_IP"]


@pytest.mark.parametrize("declared", [[], [{"containerPort": 8000}], [{"containerPort": 8000, "name": "x"}]])
def test_no_port_is_declared_twice(declared: list[Object]) -> None:
    pods = pod_spec(put(decoder(container(ports=declared))))

    found = [
        port["containerPort"]
        for one in (*pods["containers"], *pods["initContainers"])
        for port in one.get("ports", [])
    ]
    assert sorted(found) == [8000, 8200]


def test_ports_are_not_declared_where_they_are_skipped() -> None:
    pods = pod_spec(put(decoder(skip="port")))

    assert ["ports" in one for one in (*pods["containers"], *pods["initContainers"])] == [False, False]


@pytest.mark.parametrize(
    ("probe", "moved"),
    [
        (HEALTH, {"httpGet": {"path": "/health", "port": 8200}}),
        ({"httpGet": {"port": "http"}}, {"httpGet": {"port": 8200}}),
        ({"tcpSocket": {"port": 8000}}, {"tcpSocket": {"port": 8200}}),
        ({"grpc": {"port": 8000}}, {"grpc": {"port": 8200}}),
        ({"tcpSocket": {"port": 9000}}, {"tcpSocket": {"port": 9000}}),
        ({"httpGet": {"port": "other"}}, {"httpGet": {"port": "other"}}),
        ({"exec": {"command": ["true"]}}, {"exec": {"command": ["true"]}}),
    ],
)
@pytest.mark.parametrize("field", ["readinessProbe", "livenessProbe", "startupProbe"])
def test_a_probe_of_the_api_is_moved_to_the_engine(probe: Object, moved: Object, field: str) -> None:
    ports = [{"containerPort": 8000, "name": "http"}, {"containerPort": 9000, "name": "other"}]
    expanded = put(decoder(container(ports=ports) | {field: probe}))

    assert pod_spec(expanded)["containers"][0][field] == moved
    assert put(expanded, expanded) == expanded


def test_a_hook_of_the_api_is_moved_to_the_engine() -> None:
    sleep = {"exec": {"command": ["sleep", "5"]}}

    (one,) = pod_spec(put(decoder(container(lifecycle={"preStop": HEALTH, "postStart": sleep}))))[
        "containers"
    ]

    assert one["lifecycle"] == {"preStop": {"httpGet": {"path": "/health", "port": 8200}}, "postStart": sleep}


# --- cases without a sidecar ------------------------------------------------------------------------


SGLANG_DECODER: Final = ("--model-path", "M", "--host", "::", "--disaggregation-mode", "decode")


@pytest.mark.parametrize(
    ("port", "said"), [("", 8998), ("9000", 9000), ("abc", 8998), ("70000", 8998), ("$(PORT)", 8998)]
)
def test_a_decoder_of_sglang_gets_a_sidecar_that_speaks_its_protocol(port: str, said: int) -> None:
    flags = ["--disaggregation-bootstrap-port", port] if port else []
    one = container(command=["python3", "-m", "sglang.launch_server"], args=[*SGLANG_DECODER, *flags])

    stored = put(decoder(one))

    (found,) = proxies(stored)
    side = recorded(stored["metadata"]["annotations"]["fusioninfer.io/expansion"]).kv_transfer
    assert side is not None
    assert side.bootstrap == said
    assert found["args"][:3] == ["--port=30000", "--vllm-port=8200", "--kv-connector=sglang"]
    assert {"name": "SGLANG_BOOTSTRAP_PORT", "value": str(said)} in found["env"]


@pytest.mark.parametrize(
    ("connector", "options", "protocol", "found"),
    [
        ("NixlConnector", "", "nixlv2", []),
        ("ExampleConnector", "", "shared-storage", []),
        ("LMCacheConnectorV1", "", "nixlv2", []),
        ("NixlConnector", "connector=shared-storage", "", ["FI840"]),
        ("MooncakeConnector", "", "mooncake", []),
        ("MooncakeConnector", "", "", ["FI840"]),
    ],
)
def test_the_protocol_of_a_sidecar_follows_the_connector(
    connector: str, options: str, protocol: str, found: list[str]
) -> None:
    transfer = f'{{"kv_connector": "{connector}", "kv_role": "kv_consumer"}}'
    one = container(args=["M", "-tp", "8", "--kv-transfer-config", transfer])
    live = decoder(one, sidecar=options) if options else decoder(one)
    live["metadata"]["annotations"] |= {} if protocol else {f"{PREFIX}picker": "llm-d-0.7"}

    assert [code for code in codes(live) if code.startswith("FI8")] == found
    if protocol:
        assert f"--kv-connector={protocol}" in proxies(put(live))[0]["args"]


LEFT_OUT: Final = (
    container(command=["lmdeploy", "serve", "api_server"], args=["M"]),
    container(command=["sh", "-c", LOOP], args=None),
    container(args=["M", "--port", "$(P)"]),
    container(args=["M", "--port", "99999"]),
    container(args=["M", "--config", "c.yaml"]),
    container(args=["M", "--host", "10.0.0.1"]),
    container(args=["M", "--host", "127.0.0.1"]),
    container(args=["M", "--ssl-certfile", "/tls.crt"]),
    container(args=["-tp", "8", "--", "M"]),
    container(ports=[{"containerPort": port} for port in PORTS]),
    container(command=["sleep", "1"], args=None, resources=None),
)


@pytest.mark.parametrize("one", LEFT_OUT)
def test_a_port_that_cannot_move_gives_a_warning_and_no_sidecar(one: Object) -> None:
    live = decoder(one)

    (found,) = [finding for finding in check(put(live)) if finding.code.startswith("FI85")]

    assert (proxies(put(live)), found.code) == ([], "FI851")
    assert len(found.message) <= WARNING_LENGTH
    assert found.message.isascii()


@pytest.mark.parametrize(
    ("live", "found"),
    [
        (decoder(container("a", resources=None), container("b", resources=None)), ["FI851"]),
        (decoder(container(args=["M"], livenessProbe={"exec": {"command": ["true"]}})), ["FI853"]),
        (changed(decoder(), f"{GROUP}.workerTemplate", None), ["FI108"]),
    ],
    ids=["no engine is found", "a probe that runs a command", "no templates"],
)
def test_what_a_decoder_lacks_is_reported(live: Object, found: list[str]) -> None:
    assert [code for code in codes(live) if code.startswith(("FI1", "FI85"))] == found


def test_an_endpoint_picker_without_a_sidecar_is_reported_once() -> None:
    settings = Settings(disaggregated_picker="gie-1.5")

    found = [one.code for one in check(decoder(), settings=settings, mutated=False) if one.code[2] == "8"]

    assert found == ["FI805"]
    assert "routing-proxy" not in str(expand(decoder(), settings=settings))


@pytest.mark.parametrize("field", ["initContainers", "containers"])
def test_an_authors_container_named_like_the_sidecar_is_refused(field: str) -> None:
    own = {"name": "routing-proxy", "image": "corp/proxy:1"}
    engine = [container()] if field == "containers" else []
    live = changed(decoder(), f"{GROUP}.workerTemplate.spec.{field}", [*engine, own])

    assert pod_spec(put(live))[field][-1] == own
    assert "--port" not in words(put(live))
    assert "FI850" in codes(live)
    assert "FI850" not in codes(changed(live, "metadata.annotations.fusioninfer.io/skip", "sidecar"))


# --- edits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2])
def test_arguments_edited_after_the_move_are_moved_again(size: int) -> None:
    once = put(decoder(container(args=["M", "-tp", "16"]), size=size))
    field = "leaderTemplate" if size > 1 else "workerTemplate"
    more = [*pod_spec(once, field)["containers"][0]["args"], "--seed", "1"]
    edited = changed(once, f"{GROUP}.{field}.spec.containers.0.args", more)

    again = put(edited, once)

    assert sorted(pod_spec(again, field)["containers"][0]["args"]) == sorted(more)
    assert "FI851" not in codes(again, once)


EDITS: Final[list[Object]] = [
    {"image": "mirror.example/proxy@sha256:1"},
    {"imagePullPolicy": "Always"},
    {"resources": {"limits": {"cpu": "2"}}},
    {"args": ["--port=8000", "--vllm-port=8200", "--v=5"]},
]


def by_others(lws: Object, edit: Object) -> Object:
    """Return the object after another webhook, or somebody by hand, edited each of its init containers."""
    group = {
        field: {**one, "spec": {**one["spec"], "initContainers": [item | deepcopy(edit) for item in items]}}
        for field, one in lws["spec"]["leaderWorkerTemplate"].items()
        if isinstance(one, dict) and (items := one["spec"].get("initContainers"))
    }
    return changed(lws, GROUP, lws["spec"]["leaderWorkerTemplate"] | group)


@pytest.mark.parametrize("edit", EDITS, ids=[*"ipra"])
@pytest.mark.parametrize(("size", "ranks"), [(1, "8"), (2, "16")])
def test_an_edit_of_an_injected_init_container_stays_while_it_is_injected_and_goes_with_it(
    size: int, ranks: str, edit: Object
) -> None:
    author = decoder(container(args=["M", "-tp", ranks], image=IMAGES[0]), size=size)
    once = put(author)
    edited = by_others(once, edit)
    stored = put(edited, once)
    left = deepcopy(stored)

    assert opt_out(left)
    assert put(edited)["spec"] == stored["spec"] == edited["spec"] != once["spec"]
    assert [one for one in (*check(put(edited)), *check(stored, once)) if one.severity == "error"] == []
    assert put(left, stored)["spec"] == author["spec"]
    for field, value in ((STRATEGY, "prefix-cache"), (f"{GROUP}.size", 3 - size)):
        found = put(changed(stored, field, value), stored)
        assert "FI850" not in [one.code for one in check(found, stored)]
        one, other = (by_others(each, edit) for each in (found, put(changed(author, field, value))))
        assert one["spec"] == other["spec"]


@pytest.mark.parametrize("edit", EDITS[:3], ids=[*"ipr"])
def test_an_edited_init_container_follows_the_image_of_the_engine(edit: Object) -> None:
    author = decoder(container(args=["M", "-tp", "16"], image=IMAGES[0]), size=2)
    stored = put(by_others(put(author), edit), put(author))
    place = f"{GROUP}.workerTemplate.spec.containers.0.image"
    stays = {} if "image" in edit else edit

    found = put(changed(stored, place, IMAGES[1]), stored)

    (waits,) = pod_spec(found)["initContainers"]
    assert waits == pod_spec(put(changed(author, place, IMAGES[1])))["initContainers"][0] | stays


def test_an_edit_of_an_init_container_mounts_no_volume_that_is_gone() -> None:
    once = put(decoder(container(args=["M", "-tp", "16"], image=IMAGES[0]), size=2))
    stored = put(by_others(once, {"volumeMounts": [{"name": "dshm", "mountPath": "/x"}]}), once)

    found = put(changed(stored, "metadata.annotations.fusioninfer.io/skip", "shm"), stored)

    assert [one["volumeMounts"] for one in pod_spec(found)["initContainers"]] == [[]]


def test_an_init_container_with_another_image_and_other_arguments_is_its_author_s() -> None:
    once = put(decoder())
    own = by_others(once, {"image": "corp/proxy:2", "args": ["--mine"]})

    assert "FI850" in codes(own, once)
    skipped = put(changed(own, "metadata.annotations.fusioninfer.io/skip", "sidecar"), once)
    assert proxies(skipped) == proxies(own)
    assert "FI850" not in [one.code for one in check(skipped, once)]


# --- an expanded object without its record ----------------------------------------------------------

SIZES: Final = pytest.mark.parametrize(("size", "ranks"), [(1, "8"), (2, "16")])
PROBED: Final = container(args=["M", "-tp", "8"], readinessProbe=HEALTH, startupProbe=HEALTH)


def without_record(expanded: Object) -> Object:
    """Return the object after its record was removed while the webhooks were absent."""
    return changed(expanded, "metadata.annotations.fusioninfer.io/expansion", None)


def refreshed(live: Object) -> Object:
    """Return the object with the annotation that asks for a new expansion."""
    return changed(live, "metadata.annotations.fusioninfer.io/refresh", "1")


@SIZES
def test_a_sidecar_without_a_record_is_left_as_it_is(size: int, ranks: str) -> None:
    lost = without_record(put(decoder(container(args=["M", "-tp", ranks]), size=size)))
    live = refreshed(lost)

    after = put(live, lost)

    assert after["spec"] == lost["spec"]
    found = check(after, lost)
    assert [one.code for one in found if one.severity == "error"] == []
    (said,) = [one for one in found if one.code.startswith("FI85")]
    assert (said.code, len(said.message) <= WARNING_LENGTH) == ("FI851", True)


@SIZES
def test_a_restored_decoder_without_a_record_is_accepted_with_its_sidecar(size: int, ranks: str) -> None:
    lost = without_record(put(decoder(container(args=["M", "-tp", ranks]), size=size)))

    created = put(lost)

    assert created["spec"] == lost["spec"]
    assert [one.code for one in check(created) if one.severity == "error"] == []
    assert put(created, created) == created


@pytest.mark.parametrize("one", [PROBED, container(args=["M", "--port", "9000"])])
def test_a_file_applied_over_a_sidecar_without_a_record_is_refused_until_it_is_removed(one: Object) -> None:
    once = put(decoder(one))
    lost = without_record(once)
    live = changed(lost, f"{GROUP}.workerTemplate.spec.containers", [one])

    assert "FI850" in codes(put(live, lost), lost)
    removed = changed(live, f"{GROUP}.workerTemplate.spec.initContainers", None)
    assert put(removed, lost)["spec"] == once["spec"]


OTHERS: Final = [
    ("image", "corp/proxy:2"),
    ("restartPolicy", None),
    ("args", ["--port=8000", "--vllm-port=9000"]),
    ("args", None),
]


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize(("field", "value"), OTHERS)
def test_a_sidecar_that_admission_would_not_write_is_refused(field: str, value: Any, *, moved: bool) -> None:
    lost = without_record(put(decoder()))
    if not moved:
        lost = changed(lost, f"{GROUP}.workerTemplate.spec.containers", [container()])
    live = changed(lost, f"{GROUP}.workerTemplate.spec.initContainers.0.{field}", value)

    assert "FI850" in codes(live)
    assert put(live)["spec"] == live["spec"]


# --- the strategy -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2])
def test_removing_the_strategy_restores_the_engines_port(size: int) -> None:
    one = container(
        args=["M", "--port", "9000", "-tp", "16"],
        startupProbe={"httpGet": {"path": "/health", "port": 9000}},
        lifecycle={"preStop": {"tcpSocket": {"port": 9000}}},
    )
    live = decoder(one, size=size)
    once = put(live)

    again = put(changed(once, STRATEGY, None), once)

    assert again["spec"] == put(changed(live, STRATEGY, None))["spec"]


def test_no_other_object_computes_the_move() -> None:
    intent = read(lws(component_type="decoder")).intent

    assert intent is not None
    assert input_of(intent, Settings()).layout.move is None


# --- options ------------------------------------------------------------------------------------------


def flags(options: str, picker: str = "llm-d-0.7") -> list[str]:
    """Return the flags of the sidecar with these options, without its ports."""
    (proxy,) = proxies(put(decoder(sidecar=options, picker=picker)))
    found: list[str] = proxy["args"][2:]
    return found


@pytest.mark.parametrize(
    ("options", "picker", "expected"),
    [
        ("connector=sglang", "llm-d-0.7", ["--kv-connector=sglang", "--secure-proxy=false"]),
        ("connector=lmcache", "llm-d-0.4", ["--connector=lmcache", "--secure-proxy=false"]),
        (
            "tls=prefiller+decoder",
            "llm-d-0.7",
            [
                *("--kv-connector=nixlv2", "--secure-proxy=false"),
                *("--enable-tls=prefiller", "--enable-tls=decoder"),
            ],
        ),
        (
            "tls=prefiller,insecureSkipVerify=prefiller",
            "llm-d-0.4",
            [
                *("--connector=nixlv2", "--secure-proxy=false"),
                *("--prefiller-use-tls=true", "--prefiller-tls-insecure-skip-verify=true"),
            ],
        ),
        (
            "connector=offloading,tls=prefiller",
            "llm-d-0.10",
            ["--kv-connector=offloading", "--secure-proxy=false", "--enable-tls=prefiller"],
        ),
        (
            "secretName=certs",
            "llm-d-0.7",
            ["--kv-connector=nixlv2", "--secure-proxy=true", "--cert-path=/etc/routing-proxy"],
        ),
    ],
)
def test_each_option_is_a_flag_of_the_generation(options: str, picker: str, expected: list[str]) -> None:
    assert flags(options, picker) == expected


def test_a_certificate_is_mounted_from_its_secret_and_the_probe_uses_it() -> None:
    live = put(decoder(sidecar="secretName=certs"))

    (proxy,) = proxies(live)

    (mount,) = proxy["volumeMounts"]
    assert {"name": mount["name"], "secret": {"secretName": "certs"}} in pod_spec(live)["volumes"]
    assert f"--cert-path={mount['mountPath']}" in proxy["args"]
    assert proxy["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_removed_options_give_the_sidecar_without_them() -> None:
    before = put(decoder(sidecar="secretName=certs,connector=sglang"))

    after = put(changed(before, "metadata.annotations.fusioninfer.io/sidecar", None), before)

    assert pod_spec(after) == pod_spec(put(decoder()))


def test_an_engine_with_tls_gets_a_sidecar_that_calls_it_with_tls() -> None:
    engine = container(args=["M", "--ssl-certfile", "/tls.crt"])

    assert proxies(put(decoder(engine))) == []
    (proxy,) = proxies(put(decoder(engine, sidecar="tls=decoder")))
    assert "--enable-tls=decoder" in proxy["args"]


@pytest.mark.parametrize(
    ("written", "code", "words"),
    [
        ({"sidecar": "connector=lmcache"}, "FI840", "nixlv2, shared-storage, sglang"),
        ({"sidecar": "connector=nixlv1"}, "FI840", "did you mean nixlv2?"),
        ({"sidecar": "connector=offloading", "picker": "llm-d-0.9"}, "FI840", "mooncake"),
        ({"sidecar": "connector=shared-storage", "picker": "llm-d-0.4"}, "FI840", "lmcache"),
        ({"sidecar": "connector=sglang", "component_type": "prefiller"}, "FI568", "only a decoder"),
        ({"sidecar": "connector=sglang", "skip": "sidecar"}, "FI568", "only a decoder"),
    ],
)
def test_an_option_that_does_not_work_is_reported(written: dict[str, Any], code: str, words: str) -> None:
    found = {one.code: one.message for one in check(put(decoder(**written)))}

    assert words in found[code]


def test_options_change_nothing_of_an_object_without_a_sidecar() -> None:
    live = lws(1, template(), component_type="prefiller")
    with_options = changed(live, "metadata.annotations.fusioninfer.io/sidecar", "connector=sglang")

    assert pod_spec(put(with_options)) == pod_spec(put(live))
