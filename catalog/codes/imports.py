"""Findings about templates, and about objects of other systems that are imported."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI950": Error(
        "a variable of a template has no value",
        "correct its name, set the field that the message names, or write a default: `$(NAME|default)`",
    ),
    "FI951": Error(
        "a template is not there, or cannot be read",
        "apply the InferenceTemplate that the message names, or correct `base-refs`",
    ),
    "FI952": Error(
        "a template, or the templates of an object together, are too large",
        "name fewer in `base-refs`, split them, or move scripts and configuration into ConfigMaps",
        "services keep the content of their templates, and an object has room for a limited amount",
    ),
    "FI953": Error(
        "no container has the name of a template's",
        "give the container of the engine the same name in the template and in the object",
        "the template's container is `vllm` and the object's is `main`: both would run in one pod",
    ),
    "FI954": Error(
        "a template has a field that is not valid",
        "correct the field of the InferenceTemplate that the message names",
    ),
    "FI960": Warn(
        "a field of another system has no counterpart",
        "add what the message names by hand, or accept the difference",
    ),
    "FI961": Warn(
        "the other system ignores a field",
        "nothing: the service behaves as before; if the field was meant to act, see the message",
    ),
    "FI962": Warn(
        "another value overrides a field",
        "nothing: the service behaves as before",
    ),
    "FI963": Warn(
        "a field belongs to a stored object",
        "nothing: manifests do not have it",
    ),
    "FI964": Warn(
        "a field is not known to the import",
        "correct the name of the field, or write what it did by hand",
    ),
    "FI965": Error(
        "an object that another one refers to is not in the files",
        "name the file with it too: -f FILE",
    ),
    "FI966": Error(
        "an expression of a template cannot be evaluated",
        "write the value in place of the expression",
    ),
    "FI967": Error(
        "an object cannot be imported",
        "correct the object as the message says",
    ),
    "FI968": Warn(
        "a base that no service uses, or a file for kustomize",
        "nothing: it has no effect on the services; name it in baseRefs if it should",
    ),
    "FI975": Warn(
        "a launch that was written by hand is kept",
        "replace it by the plain command of the engine, and remove the annotation launcher; or keep it",
    ),
    "FI976": Warn(
        "a role of a DisaggregatedSet is no part of the service",
        "add fusioninfer.io/service and fusioninfer.io/component-type to its metadata, or leave it to LWS",
        "a service has prefillers and decoders, which the import knows by the names of the roles",
    ),
    "FI977": Warn(
        "routes wait for templates",
        "create the InferenceTemplate, correct `baseRefs`, or switch templates on; existing routes stay",
        event="TemplatesNotKnown",
    ),
}
