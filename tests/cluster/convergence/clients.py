"""The clients of the law of convergence as real programs: kubectl, Helm, and a controller's own calls.

| client (`tests.laws.convergence.clients`) | program |
|---|---|
| client-side apply | `kubectl apply` |
| server-side apply | `kubectl apply --server-side --force-conflicts` |
| replace | `kubectl create`, then `kubectl replace` |
| helm | `helm install` and `helm upgrade` of Helm 4 with `--server-side=false`, which is Helm 3's patch |
| helm three-way | a call with the patch: no option of `helm` has it for an upgrade |
| edit | in turn `kubectl edit`, `kubectl patch --type=merge`; `kubectl annotate` if only annotations differ |
| put | GET and PUT, as a controller does |
| replace by hand | `kubectl get`, an editor, and `kubectl replace`, without what only the API server writes |
| json patch | `kubectl patch --type=json` |
| scale | `kubectl scale` |
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import jsonpatch

from intent import Object
from intent.annotations import EXPANSION
from tests.cluster.convergence.placed import Place, placed, written
from tests.cluster.testbed.api import MERGE_PATCH, ApiError, call, create, get_or_none, path
from tests.cluster.testbed.cluster import kubeconfig
from tests.laws.convergence import clients
from tests.laws.convergence.clients import Write
from tests.laws.convergence.managed import LAST_APPLIED

EDITOR: Final = Path(__file__).with_name("editor.py")
MANAGER: Final = "kubectl-edit"
"""The manager of every client that sends what was edited, as in the simulation."""
RESOURCE: Final = "leaderworkersets"
CONFLICT: Final = "the object has been modified"
"""What a client says whose resourceVersion is not the newest."""
ATTEMPTS: Final = 8


class RefusedError(Exception):
    """A write failed; the text is what the client said."""


def stored(place: Place) -> Object | None:
    """Read the object of a place, or None."""
    return get_or_none(place.servers.cluster.api, _url(place))


def send(place: Place, write: Write, turn: int = 0) -> None:
    """Have the client of a write act on the object of a place; again when another write came between.

    A client that reads and then writes meets the writes of LWS's manager and of our controller.

    Raises:
        RefusedError: the client failed.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            _send_once(place, write, turn)
        except RefusedError as error:
            if not left or CONFLICT not in str(error):
                raise
        else:
            return


def _send_once(place: Place, write: Write, turn: int) -> None:
    live = stored(place)
    try:
        if write.client in FILES:
            FILES[write.client](place, live, write)
        elif live is not None:
            BY_HAND[write.client](place, live, write, turn)
    except ApiError as error:
        raise RefusedError(str(error)) from error


# --- clients of files -----------------------------------------------------------------------------------


def _apply(place: Place, _live: Object | None, write: Write) -> None:
    _kubectl(place, "apply", "--filename=-", body=placed(write.body, place))


def _apply_server_side(place: Place, _live: Object | None, write: Write) -> None:
    words = ("apply", "--server-side", "--force-conflicts", "--field-manager=kubectl", "--filename=-")
    _kubectl(place, *words, body=placed(write.body, place))


def _replace(place: Place, live: Object | None, write: Write) -> None:
    _kubectl(place, "replace" if live else "create", "--filename=-", body=placed(write.body, place))


def _helm(place: Place, live: Object | None, write: Write) -> None:
    chart = place.folder / "chart"
    (chart / "templates").mkdir(parents=True, exist_ok=True)
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {place.name}\nversion: 1.0.0\n")
    (chart / "templates" / "lws.yaml").write_text(json.dumps(placed(write.body, place)))
    verb = "upgrade" if live else "install"
    words = (verb, place.name, str(chart), f"--namespace={place.namespace}", "--server-side=false")
    _run(place, (str(place.servers.helm), *words))


def _helm_three_way(place: Place, live: Object | None, write: Write) -> None:
    api, file = place.servers.cluster.api, placed(clients.owned(write.body), place)
    if live is None:
        create(api, path(RESOURCE, place.namespace), file, fieldManager=clients.HELM)
        return
    patch = clients.three_way(placed(write.released or {}, place), file, live)
    call(api, "PATCH", f"{_url(place)}?fieldManager={clients.HELM}", patch, MERGE_PATCH)


# --- clients of changes by hand ---------------------------------------------------------------------------


def _edit(place: Place, live: Object, write: Write, turn: int) -> None:
    wanted = _wanted(place, live, write.body)
    change = clients.two_way(live, wanted)
    if change.keys() == {"metadata"} and change["metadata"].keys() == {"annotations"}:
        values = change["metadata"]["annotations"] or dict.fromkeys(live["metadata"]["annotations"])
        words = [f"{key}-" if value is None else f"{key}={value}" for key, value in values.items()]
        _kubectl(place, "annotate", *_named(place), "--overwrite", f"--field-manager={MANAGER}", *words)
    elif turn % 2 and change:
        words = [f"--field-manager={MANAGER}", "--type=merge", f"--patch={json.dumps(change)}"]
        _kubectl(place, "patch", *_named(place), *words)
    else:
        file = place.folder / "wanted.json"
        file.write_text(json.dumps(wanted))
        editor = shlex.join([sys.executable, "-I", str(EDITOR), str(file)])
        try:
            _kubectl(place, "edit", *_named(place), KUBE_EDITOR=editor, TMPDIR=str(place.folder))
        except RefusedError as error:  # the reason stands in the file of a second edit alone
            said = [str(error)]
            for copy in sorted(place.folder.glob("kubectl-edit-*")):
                said.append(copy.read_text())
                copy.unlink()
            raise RefusedError("\n".join(said)) from error


def _put(place: Place, live: Object, write: Write, _turn: int) -> None:
    url = f"{_url(place)}?fieldManager=controller"
    call(place.servers.cluster.api, "PUT", url, _wanted(place, live, write.body))


def _exported(place: Place, live: Object, write: Write, _turn: int) -> None:
    wanted = _wanted(place, live, write.body)
    ours = ("name", "namespace", "labels", "annotations")
    metadata = {key: wanted["metadata"][key] for key in ours if key in wanted["metadata"]}
    body = {key: wanted[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": metadata}
    _kubectl(place, "replace", "--filename=-", body=body)


def _json_patch(place: Place, live: Object, write: Write, _turn: int) -> None:
    operations = jsonpatch.make_patch(live, _wanted(place, live, write.body)).to_string()
    if operations != "[]":
        _kubectl(place, "patch", *_named(place), "--type=json", f"--patch={operations}")


def _scale(place: Place, _live: Object, write: Write, _turn: int) -> None:
    _kubectl(place, "scale", *_named(place), f"--replicas={write.body['spec']['replicas']}")


def _wanted(place: Place, live: Object, wanted: Object) -> Object:
    """Return the live object with the spec, labels and annotations that are wanted."""
    changed = written(wanted)
    metadata = {key: value for key, value in live["metadata"].items() if key not in ("labels", "annotations")}
    metadata |= placed(changed, place)["metadata"]
    annotations = metadata.get("annotations", {})
    for key in (LAST_APPLIED, EXPANSION):  # the text of kubectl, and that of our webhook
        if _note(written(live), key) == _note(changed, key) is not None:
            annotations[key] = live["metadata"]["annotations"][key]
    return {**live, "metadata": metadata, "spec": wanted["spec"]}


def _note(lws: Object, key: str) -> str | None:
    found: str | None = lws["metadata"].get("annotations", {}).get(key)
    return found


FILES: Final[dict[str, Callable[[Place, Object | None, Write], None]]] = {
    "client-side apply": _apply,
    "server-side apply": _apply_server_side,
    "replace": _replace,
    "helm": _helm,
    "helm three-way": _helm_three_way,
}
BY_HAND: Final[dict[str, Callable[[Place, Object, Write, int], None]]] = {
    "edit": _edit,
    "put": _put,
    clients.EXPORTED: _exported,
    "json patch": _json_patch,
    clients.SCALE: _scale,
}


# --- processes --------------------------------------------------------------------------------------------


def _kubectl(place: Place, verb: str, *words: str, body: Object | None = None, **environment: str) -> None:
    command = (str(place.servers.cluster.built.binary("kubectl")), verb, f"--namespace={place.namespace}")
    _run(place, (*command, *words), "" if body is None else json.dumps(body), **environment)


def _run(place: Place, command: tuple[str, ...], stdin: str = "", **environment: str) -> None:
    cluster = place.servers.cluster
    own = {"HOME": str(cluster.directory), "KUBECONFIG": str(kubeconfig(cluster))}
    env = os.environ | own | environment
    done = subprocess.run(command, input=stdin, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RefusedError(done.stderr)


def _named(place: Place) -> tuple[str, str]:
    return RESOURCE, place.name


def _url(place: Place) -> str:
    return path(RESOURCE, place.namespace, place.name)
