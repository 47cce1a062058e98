"""Annotations, and the shape of what is read."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI101": Code(
        "error",
        "the name of the service is not a DNS-1035 label",
        "use lower-case letters, digits and '-', starting with a letter, at most 63 characters",
        "the name came from elsewhere, with capitals, dots or underscores",
    ),
    "FI102": Code(
        "error",
        "unknown annotation under fusioninfer.io/",
        "use one of the documented keys; the message names the nearest",
        "a slip of the pen, or a key of another release",
    ),
    "FI103": Code(
        "error",
        "annotations of ours without a service",
        "add fusioninfer.io/service, or remove the other keys",
        "the opt-in was taken away or mistyped, and the other keys stayed",
    ),
    "FI104": Code(
        "error",
        "an annotation has a value outside its set",
        "use one of the values that the message lists",
        "a slip of the pen, or a value of another release",
    ),
    "FI105": Code(
        "error",
        "a role name is not a DNS-1123 label",
        "use lower-case letters, digits and '-', at most 63 characters",
        "the name came from elsewhere, with capitals, dots or underscores",
    ),
    "FI106": Code(
        "error",
        "the list of roles cannot be read",
        "write role names separated by commas, each once",
        "a role stands there twice, or an entry between two commas is empty",
    ),
    "FI107": Code(
        "error",
        "a reserved label has another value than ours",
        "remove the label, or change the annotation it is made from",
        "the object was copied from one that is already labelled, or a label was set by hand",
    ),
    "FI108": Code(
        "error",
        "a field has the wrong shape",
        "write what the LeaderWorkerSet API defines there",
        "a list stands where a string belongs, a number is in quotes, or a required field is missing",
    ),
    "FI109": Code(
        "error",
        "a name is too long for what is made from it",
        "shorten the name to the limit in the message",
        "pods carry the name in labels of at most 63 characters, together with group and revision",
    ),
}
