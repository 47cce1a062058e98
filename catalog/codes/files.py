"""Findings about files: the shape of the objects in them, and documents that are not checked."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI920": Error(
        "unknown field",
        "use the name in the message, move the field to its place, or remove it",
        "a field is misspelt, misplaced, or of a later release; the API server drops or refuses it",
    ),
    "FI921": Error(
        "a field has a value that its API refuses",
        "correct the field as the message says",
        "a value has the wrong type or is out of range, or a required field is missing",
    ),
    "FI922": Error(
        "the version of the API does not exist",
        "write the apiVersion in the message",
        "the apiVersion is misspelt, or of another release",
    ),
    "FI923": Error(
        "two documents are the same object",
        "keep one of the two, or give each its own metadata.name: only the first is checked",
        "the document was copied without a new name, or both the input and the output of a tool are given",
    ),
    "FI924": Warn(
        "a Service sets a variable that the engine reads",
        "rename the Service, or set enableServiceLinks: false in the pod templates",
        "the kubelet gives every pod of a namespace variables named after its Services",
    ),
    "FI925": Warn(
        "a field of a later release",
        "check that the cluster has the release in the message; then --ignore FI925",
        "the field is newer than the release with which FusionInfer is tested",
    ),
    "FI930": Warn(
        "a key under fusioninfer.io/ has no effect",
        "write it as an annotation in the place that the message names, or remove it",
        "admission reads the annotations of few kinds, in their own metadata",
    ),
    "FI931": Warn(
        "an object is not checked",
        "correct apiVersion and kind, or name the files with the objects of your service",
        "kind or apiVersion is missing or misspelt, or no file has an object of a kind that is checked",
    ),
    "FI932": Warn(
        "a file contains no object",
        "write an object into the file, or remove the file",
        "the file is empty or has comments only; a template may have rendered nothing",
    ),
    "FI933": Warn(
        "a kustomization is not rendered",
        "pass the output of kubectl kustomize on standard input: -f -",
        "the directory is one for kustomize; files are read one by one",
    ),
}
