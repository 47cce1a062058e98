"""Argo CD's engine and Flux's library as programs: a question in JSON on one line, the answer on the next.

The programs are `components/argo-cd` and `components/flux`; they call the API server themselves.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from intent import Object
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.differences import Differences, differences

TRACKING: Final = "argocd.argoproj.io/tracking-id"
"""The annotation by which Argo CD knows its objects, unless it is configured to use a label."""


class Options(TypedDict, total=False):
    """The options of an Application: compare options, sync options, `ignoreDifferences`."""

    serverSideDiff: bool
    includeMutationWebhook: bool
    serverSideApply: bool
    replace: bool
    respectIgnoreDifferences: bool
    jsonPointers: list[str]
    managedFieldsManagers: list[str]


class GitOpsError(Exception):
    """What a program answered instead: the API server refused, or the library failed."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that answers questions."""

    process: subprocess.Popen[str]

    def ask(self, verb: str, **question: object) -> Any:
        """Return the answer to a question.

        Raises:
            GitOpsError: it has none.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"verb": verb, **question}) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise GitOpsError(f"the program ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise GitOpsError(answer["error"])
        return answer


@contextmanager
def answering(cluster: Cluster, binary: Path) -> Iterator[Program]:
    """Run a program that calls the API server of a cluster as admin."""
    own = {"HOME": str(cluster.directory), "KUBECONFIG": str(kubeconfig(cluster))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([str(binary)], env=os.environ | own, text=True, **pipes) as process:  # type: ignore[call-overload] # pipes are two options
        try:
            yield Program(process)
        finally:
            process.kill()


def options_of(application: Object) -> Options:
    """Return the options that a manifest of an Application sets."""
    spec, annotations = application["spec"], application["metadata"].get("annotations", {})
    compare = annotations.get("argocd.argoproj.io/compare-options", "").split(",")
    words = [*filter(None, compare), *spec["syncPolicy"].get("syncOptions", ())]
    options: Object = {word[0].lower() + word[1:].partition("=")[0]: word.endswith("=true") for word in words}
    for rule in spec.get("ignoreDifferences", ()):
        options |= {key: rule[key] for key in ("jsonPointers", "managedFieldsManagers") if key in rule}
    if unknown := options.keys() - Options.__annotations__.keys():
        raise ValueError(f"options that the program does not have: {sorted(unknown)}")
    return cast("Options", options)


def tracked(manifest: Object) -> Object:
    """Return a manifest with the annotation of Argo CD; the Application has the name of the namespace."""
    metadata = manifest["metadata"]
    group = manifest["apiVersion"].rpartition("/")[0]
    place = f"{group}/{manifest['kind']}:{metadata['namespace']}/{metadata['name']}"
    annotations = {**metadata.get("annotations", {}), TRACKING: f"{metadata['namespace']}:{place}"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def compared(argo_cd: Program, manifest: Object, live: Object, options: Options) -> Differences:
    """Return where Argo CD shows an object as OutOfSync: what is there, and what it expects."""
    found = argo_cd.ask("diff", target=tracked(manifest), live=live, options=options)
    where = differences(found["live"], found["predicted"])
    assert bool(where) == found["modified"]
    return where
