"""Requests of /mutate whose objects name templates, in two steps between which the templates are read.

    asked      the body of the request -> which templates to read
    packed     the body, with what was read
    answered   both -> the answer

Each step takes and returns bytes, so that either process of the webhook can do it.
"""

from typing import Final

import orjson

from intent import Object
from intent.annotations import BASE_REFS
from intent.settings import Settings
from intent.template import Templates, Unavailable
from webhook.expand import DEFAULTS
from webhook.review import AdmissionAnswer, Wanted, mutate, wanted

ASKED: Final = "/mutate: which templates"
ANSWERED: Final = "/mutate: with templates"
"""The names of the steps, beside the paths of the server."""
_NAMES: Final = BASE_REFS.encode()
_TOO_DEEP: Final = "cannot be read: it has more than 250 levels of lists and maps; make it flatter"
_END: Final = b"\0"
"""Ends the body: no JSON text contains it."""


def may_ask(body: bytes) -> bool:
    """Return whether a body may name templates; of most it is known without parsing that they do not."""
    return _NAMES in body


def asked(body: bytes) -> AdmissionAnswer:
    """Return the templates to read, as JSON. Raises `Malformed`."""
    return AdmissionAnswer(orjson.dumps(tuple(wanted(body))), "unchanged")


def read_asked(answer: bytes) -> Wanted:
    """Read the answer of `asked`."""
    namespace, names = orjson.loads(answer)
    return Wanted(namespace, tuple(names))


def packed(body: bytes, templates: Templates) -> bytes:
    """Return a body with its templates; one that is nested too deep to be written counts as unreadable."""
    read = {name: orjson.Fragment(_written(template)) for name, template in templates.items()}
    return b"".join((body, _END, orjson.dumps(read)))


def _written(template: Object | Unavailable) -> bytes:
    try:
        return orjson.dumps([template.reason] if isinstance(template, Unavailable) else template)
    except TypeError:  # it writes fewer levels than it reads
        return orjson.dumps([_TOO_DEEP])


def answered(body: bytes, settings: Settings = DEFAULTS) -> AdmissionAnswer:
    """Answer a body with its templates. Raises `Malformed`."""
    review, _, templates = body.partition(_END)
    read = orjson.loads(templates).items()
    by_name = {name: Unavailable(*value) if isinstance(value, list) else value for name, value in read}
    return mutate(review, settings, templates=by_name)
