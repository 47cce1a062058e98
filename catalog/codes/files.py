"""Findings about files: the shape of the objects in them, and documents that are not checked."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI920": Code(
        "error",
        "unknown field",
        "use the name or the place in the message, or remove the field",
        "a field is misspelt, misplaced, or of a later release; the API server drops it, and rejects it "
        "under strict validation, the default of kubectl",
    ),
    "FI921": Code(
        "error",
        "a field has a value that its API refuses",
        "correct the field as the message says",
        "a value has the wrong type or is out of range, or a required field is missing",
    ),
    "FI922": Code(
        "error",
        "the version of the API does not exist",
        "write the apiVersion in the message",
        "the apiVersion is misspelt, or of another release",
    ),
    "FI923": Code(
        "error",
        "two documents are the same object",
        "keep one of the two, or give each its own metadata.name",
        "the document was copied without a new name, or both the input and the output of a tool are given",
    ),
    "FI924": Code(
        "warning",
        "a Service sets a variable that the engine reads",
        "rename the Service, or set enableServiceLinks: false in the pod templates",
        "the kubelet gives every pod of a namespace variables named after its Services",
    ),
    "FI925": Code(
        "warning",
        "a field of a later release",
        "check that the cluster has the release in the message; then --ignore FI925",
        "the field is newer than the release with which FusionInfer is tested; its value is checked as that "
        "release says in its sources",
    ),
    "FI930": Code(
        "warning",
        "a key under fusioninfer.io/ has no effect",
        "write it as an annotation in the place that the message names, or remove it",
        "admission reads annotations in the metadata of few kinds; it reads no labels, no pod templates and "
        "no other workloads",
    ),
    "FI931": Code(
        "warning",
        "an object is not checked",
        "correct apiVersion and kind, or name the files with the objects of your service",
        "one of them is missing or misspelt, the file is no manifest, or no file has an object of a kind "
        "that is checked",
    ),
    "FI932": Code(
        "warning",
        "a file contains no object",
        "write an object into the file, or remove the file",
        "the file is empty or has comments only; a template may have rendered nothing",
    ),
    "FI933": Code(
        "warning",
        "a kustomization or a template is not rendered",
        "pass the output of kubectl kustomize or of helm template on standard input: -f -",
        "the directory is one for kustomize, or the file is a template of a chart; files are read one by one",
    ),
}
