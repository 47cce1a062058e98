"""The command: exit codes, standard output and standard error."""

import json
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from fusioninfer.cli.program import SUBCOMMANDS, load
from intent import Object, yaml
from intent.annotations import EXPANSION
from tests.golden.test_golden import CASES

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=text)


def example(name: str, **changes: str) -> str:
    text = (EXAMPLES / name).read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def test_expand_admission_only_omits_the_controllers_objects() -> None:
    result = run("expand", "--admission-only", "-f", str(EXAMPLES / "monolithic.yaml"))

    assert "kind: PodGroup" not in result.stdout


@pytest.mark.parametrize(
    "text",
    [
        "kind: ConfigMap\ndata:\n  a: '1'\n",
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nspec: {}\n",
    ],
)
def test_expand_passes_other_objects_through(text: str) -> None:
    assert run("expand", "-f", "-", text=text).stdout == text


def test_the_settings_choose_the_endpoint_picker(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("picker: gie-1.2")
    case = Path(__file__).parents[1] / "golden" / "routes-queue-size" / "input.yaml"

    result = run("expand", "-f", str(case), "--config", str(tmp_path / "settings.yaml"))

    assert "epp:v1.2.1" in result.stdout


# --- InferenceServices ------------------------------------------------------------------------------

STORY_4 = Path(__file__).parents[1] / "golden" / "isvc-story-4" / "input.yaml"


def test_an_inference_service_is_replaced_by_its_members() -> None:
    around = "kind: A\n---\n" + STORY_4.read_text() + "---\nkind: B\n"

    result = run("expand", "-o", "json", "-f", "-", text=around)

    found = [item["kind"] for item in json.loads(result.stdout)["items"]]
    assert found == ["A", "LeaderWorkerSet", "LeaderWorkerSet", "B", "PodGroup", "Service"]


def test_the_members_of_an_inference_service_get_the_namespace() -> None:
    result = run("expand", "-n", "llm", "-o", "json", "-f", str(STORY_4))

    assert {item["metadata"]["namespace"] for item in json.loads(result.stdout)["items"]} == {"llm"}


def test_a_conflict_with_a_member_of_an_inference_service_is_reported() -> None:
    other = example("decode.yaml", **{"name: deepseek-r1-disagg-decode": "name: late"})

    result = run("validate", "-f", str(STORY_4), "-f", "-", text=other)

    assert (result.exit_code, "FI401" in result.stdout) == (1, True)
    assert 'error: spec.roles[1].name: Invalid value: "decode"' in result.stdout


def test_explain_covers_the_members_of_an_inference_service() -> None:
    result = run("explain", "-f", str(STORY_4))

    headings = [line for line in result.stdout.splitlines() if "document 1" in line]
    assert [line.partition("LeaderWorkerSet ")[2] for line in headings] == [
        "deepseek-r1-disagg-prefill)",
        "deepseek-r1-disagg-decode)",
    ]


# --- engines -----------------------------------------------------------------------

OWN = "images: [{repository: corp/llm, version: 0.17.1, ray: 2.54.0, source: ours}]\n"


def settings_with(tmp_path: Path, engines: str) -> str:
    """Write a settings file that names an engines file beside it; return its path."""
    (tmp_path / "engines.yaml").write_text(engines)
    (tmp_path / "settings.yaml").write_text("engines: engines.yaml\nlauncher: auto\n")
    return str(tmp_path / "settings.yaml")


def test_engines_lists_every_table_with_its_sources() -> None:
    result = run("engines", "-o", "json")

    tables = json.loads(result.stdout)
    assert list(tables) == ["images", "traits", "connectors", "models"]
    assert all(row["source"] for rows in tables.values() for row in rows)


def test_engines_prints_columns() -> None:
    lines = run("engines").stdout.splitlines()

    assert lines[0] == "images"
    assert lines[1].split()[:4] == ["repository", "tag", "engine", "versions"]


def test_the_operators_images_come_first(tmp_path: Path) -> None:
    result = run("engines", "-o", "json", "--config", settings_with(tmp_path, OWN))

    assert json.loads(result.stdout)["images"][0] == {
        "repository": "corp/llm",
        "tag": "*",
        "engine": "vllm",
        "versions": "0.17.1",
        "entrypoint": "",
        "ray": "Ray 2.54.0",
        "auto": "ray-symmetric",
        "source": "ours",
    }


def test_the_operators_models_come_first(tmp_path: Path) -> None:
    mine = "models: [{name: corp-*, experts: true, source: ours}]\n"

    result = run("engines", "-o", "json", "--config", settings_with(tmp_path, mine))

    shown = {"model": "corp-*", "experts": "yes", "source": "ours"}
    assert json.loads(result.stdout)["models"][0] == shown


def test_the_operators_images_determine_the_launcher(tmp_path: Path) -> None:
    plain = "args:\n          - --model"
    served = "command: [vllm, serve]\n          args:"
    text = example("monolithic.yaml", **{"vllm/vllm-openai:v0.17.1": "corp/llm:1", plain: served})

    known = run("expand", "-f", "-", "--config", settings_with(tmp_path, OWN), text=text)
    unknown = run("expand", "-f", "-", "--config", settings_with(tmp_path, "images: []\n"), text=text)

    assert ("symmetric-run" in known.stdout, "FI527" in known.stderr) == (True, False)
    assert ("--nnodes" in unknown.stdout, "FI527" in unknown.stderr) == (True, True)


@pytest.mark.parametrize(
    ("engines", "message"),
    [
        ("images: [{repository: x}]", "images.0.source: Field required"),
        ("images: [{repository: x, source: y, ray: 2.5}]", "must be a version"),
        ("images: [{repository: x, source: y, since: new}]", "must be a version"),
        ("images: [{repository: x, source: y, engine: vlm}]", "images.0.engine"),
        ("models: [{name: x, experts: 8, source: y}]", "models.0.experts"),
        ("flags: []", "flags: unknown field"),
    ],
)
def test_an_invalid_engines_file_is_told_with_its_field(tmp_path: Path, engines: str, message: str) -> None:
    result = run("engines", "--config", settings_with(tmp_path, engines))

    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "ray"), [("none", "no Ray"), ("2.51 - 2.53", "Ray 2.51 to 2.53"), ("'2.54'", "Ray 2.54")]
)
def test_the_ray_of_an_image_is_a_version_a_range_or_none(tmp_path: Path, text: str, ray: str) -> None:
    config = settings_with(tmp_path, f"images: [{{repository: x, source: y, ray: {text}}}]")

    assert json.loads(run("engines", "-o", "json", "--config", config).stdout)["images"][0]["ray"] == ray


OF_NAMESPACES: Final = [
    (name, option.opts[-1])
    for name in SUBCOMMANDS
    for option in load(name).params
    if option.opts[-1].endswith("namespace")
]


@pytest.mark.parametrize("name", ["..", "a/b", "a b", "A"])
@pytest.mark.parametrize(("command", "option"), OF_NAMESPACES)
def test_what_cannot_name_a_namespace_is_a_usage_error(command: str, option: str, name: str) -> None:
    result = run(command, option, name)

    said = f"Invalid value for '{option}': '{name}' is no name of a namespace"
    assert (result.exit_code, said in result.stderr.replace("'-n' / ", "")) == (2, True)


@pytest.mark.parametrize("command", ["check", "diff -", "eject lws/a", "plan x.yaml", "refresh", "why a"])
def test_a_kubeconfig_that_names_no_namespace_is_not_used(tmp_path: Path, command: str) -> None:
    (tmp_path / "config").write_text(
        "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x, namespace: ..}}]\n"
        "clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: x, user: {}}]\n"
    )
    result = run(*command.split(), "--kubeconfig", str(tmp_path / "config"))

    assert (result.exit_code, "'..' is no name of a namespace" in result.stderr) == (2, True)


def test_a_lease_duration_must_exceed_the_renew_deadline() -> None:
    result = run("sync", "--lease-duration", "10", "--renew-deadline", "10")

    assert (result.exit_code, "--lease-duration must exceed" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--client-name", "kube-apiserver"), "--client-ca and --client-name, the API server's, require"),
        (("--client-ca", "ca.crt"), "--client-ca and --client-name, the API server's, require"),
        (("--caller-cidr", "10.0.0.1/24"), "10.0.0.1/24 has host bits set; use the form 10.0.0.0/24"),
        (("--caller-cidr", "apiserver"), "use the form 10.0.0.0/24 or fd00::/64"),
        (("--caller-cidr", "::ffff:10.0.0.0/104"), "arrive as such; write 10.0.0.0/8"),
    ],
)
def test_callers_that_cannot_be_verified_are_a_usage_error(
    tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    result = run("webhook", "--cert-dir", str(tmp_path), *flags)

    assert (result.exit_code, said in " ".join(result.stderr.split())) == (2, True)


TEMPLATES: Final = ("--templates-namespace=fusioninfer-system", "--config")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("", "require"),
        ("--client-ca=ca.crt", "require"),
        ("--client-ca=ca.crt --client-name=kube-apiserver", "settings.yaml"),
        ("--templates-any-caller", "settings.yaml"),
    ],
    ids=["nobody", "every certificate of a CA", "names in certificates", "every pod may read them"],
)
def test_templates_are_not_read_for_callers_that_are_not_known(tmp_path: Path, flags: str, said: str) -> None:
    result = run("webhook", f"--cert-dir={tmp_path}", *TEMPLATES, no_settings(tmp_path), *flags.split())

    assert (result.exit_code, said in result.stderr) == (2, True)


def no_settings(folder: Path) -> str:
    """Return a file that ends a webhook whose flags are right."""
    (folder / "settings.yaml").write_text("unknown: 1")
    return str(folder / "settings.yaml")


# --- the output, read again --------------------------------------------------------------------------


def identities(objects: list[Object]) -> list[tuple[str, str, str]]:
    """Return kind, namespace and name of objects."""
    found = ((one, one.get("metadata") or {}) for one in objects)
    return [(one["kind"], data.get("namespace", ""), data["name"]) for one, data in found]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::8], ids=lambda case: case.name)
def test_expand_of_its_own_output_changes_nothing(case: Path) -> None:
    once = run("expand", str(case / "input.yaml"))

    if once.exit_code == 0:
        again = run("expand", "-", text=once.stdout)
        before, after = (list(yaml.load(one.stdout)) for one in (once, again))
        assert identities(after) == identities(before)
        if not case.name.startswith("isvc"):  # what only the InferenceService says is not in the output
            assert after == before


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_no_record_leaves_out_nothing_but_the_record(form: str) -> None:
    words = ("expand", str(EXAMPLES / "monolithic.yaml"), "-o", form)
    whole, short = (list(yaml.load(run(*words, *flags).stdout)) for flags in ((), ("--no-record",)))

    service = (whole[0]["items"] if form == "json" else whole)[0]
    assert service["metadata"]["annotations"].pop(EXPANSION)
    assert short == whole
