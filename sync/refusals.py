"""Refusals: why an object is not written, with the code of its kind. They become findings of its service."""

import re
from typing import Any, Final

from intent import Object
from intent.annotations import NOT_EXPANDED, UNANSWERED
from kube.client import NOT_FOUND, ApiError
from sync.history import FIGHT
from sync.kinds import Kind
from sync.parts.desired import Refusal

INVALID: Final = 422
REFUSED: Final = (400, 403, INVALID)
"""Status codes that another try does not change."""
_NOT_EXPANDED: Final = re.compile(f'"{NOT_EXPANDED}([^"]*)')
"""The reason in a label that admission wrote, as the API server quotes it."""


def lasting(kind: Kind[Any], desired: Object, error: ApiError) -> Refusal | None:
    """Return the refusal for an error that another try does not change; None if it may."""
    codes = kind.ownership.codes
    if error.code == INVALID and UNANSWERED in str(error):
        message = f"admission does not answer for {described(kind, desired)}"
        return Refusal(codes.altered, message, kind.kind, name=_name(desired))
    if error.code == INVALID and (why := _NOT_EXPANDED.search(str(error))):
        message = f"{described(kind, desired)} is refused: {why[1]}"
        return Refusal(codes.refused, message, kind.kind, name=_name(desired))
    if error.code == NOT_FOUND and not error.named:
        return absent(kind, f"this cluster has no {kind.kind} of {kind.resource.api_version}")
    if error.undeclared:
        return absent(kind, f"this cluster's {kind.kind} lacks fields that are needed")
    if error.code in REFUSED:
        message = f"{described(kind, desired)} is refused: {error}"
        return Refusal(codes.refused, message, kind.kind, name=_name(desired))
    return None


def retryable(kind: Kind[Any], desired: Object, error: ApiError) -> Refusal:
    """Return the refusal for an error that may pass; the write is tried again, with a growing delay."""
    message = f"{described(kind, desired)} is not written: {error}"
    return Refusal(kind.ownership.codes.refused, message, kind.kind, retryable=True, name=_name(desired))


def absent(kind: Kind[Any], message: str) -> Refusal:
    """Return the refusal for a kind, or fields of it, that this cluster does not have."""
    remedy = f"; install the CRDs of {kind.resource.source}" if kind.resource.source else ""
    return Refusal(kind.ownership.codes.absent, message + remedy, kind.kind)


def foreign(kind: Kind[Any], desired: Object) -> Refusal:
    """Return the refusal for an object that the controller does not own."""
    message = f"{described(kind, desired)} was not made for this service; it is left alone"
    return Refusal(kind.ownership.codes.foreign, message, kind.kind, name=_name(desired))


def contested(kind: Kind[Any], subject: str, name: str) -> Refusal:
    """Return the refusal for an object, or its status, that another writer keeps changing."""
    message = f"{subject} was applied {FIGHT} times in a minute, and another writer changed it each time"
    message = f"{message}; it is left alone for a while"
    return Refusal(kind.ownership.codes.contested, message, kind.kind, name=name)


def described(kind: Kind[Any], obj: Object) -> str:
    """Return kind and name of an object, as messages show them."""
    return f"{kind.kind} {obj['metadata']['name']}"


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
