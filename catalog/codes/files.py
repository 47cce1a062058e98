"""Findings about files: the shape of the objects in them, and documents that are not checked."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI920": Error(
        "unknown field",
        "use the name in the message, move the field to its place, or remove it",
    ),
    "FI921": Error(
        "a field has a value that its API refuses",
        "correct the field as the message says",
    ),
    "FI922": Error(
        "the version of the API does not exist",
        "write the apiVersion in the message",
    ),
    "FI923": Error(
        "two documents are the same object",
        "keep one of the two, or give each its own metadata.name: only the first is checked",
    ),
    "FI924": Warn(
        "a Service sets a variable that the engine reads",
        "rename the Service, or set enableServiceLinks: false in the pod templates",
        "the kubelet gives every pod of a namespace variables named after its Services",
    ),
    "FI925": Warn(
        "a field of a later release",
        "check that the cluster has the release in the message; then --ignore FI925",
    ),
    "FI930": Warn(
        "a key under fusioninfer.io/ has no effect",
        "write it as an annotation in the place that the message names, or remove it",
        "admission reads the annotations of few kinds, in their own metadata",
    ),
    "FI931": Warn(
        "an object is not checked",
        "correct apiVersion and kind, or name the files with the objects of your service",
    ),
    "FI932": Warn(
        "a file contains no object",
        "write an object into the file, or remove the file",
    ),
    "FI933": Warn(
        "a kustomization is not rendered",
        "pass the output of kubectl kustomize on standard input: -f -",
    ),
}
