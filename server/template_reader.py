"""Read InferenceTemplates for admission: live, by name, of the namespace of the object, or the operator's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Final

from intent import Object
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.inferencetemplate.v1alpha1 import KIND, PLURAL
from intent.names import api_path, is_label, is_subdomain
from intent.shapes import metadata
from intent.template import APPLY_IT, Templates, Unavailable
from kube.client import NO_ANSWER, NOT_FOUND, AnswerTooLargeError, ApiError, Client, ConfigError, connect
from kube.request import get
from webhook.review import Wanted
from webhook.server.reading import READS, ReadTemplates

LARGEST: Final = 512 * 1024
"""Bytes of an answer: a template of 64 KiB, each field of it twice more in managedFields."""
ATTEMPT_SECONDS: Final = 0.7
"""For one request; after it, or after an error that may pass, it is sent once more."""
PAUSE: Final = 0.05
"""Seconds before that."""
REFUSED: Final = {
    NOT_FOUND: "cannot be read, since its kind is not installed: install the CRDs of FusionInfer",
    HTTPStatus.FORBIDDEN: f"cannot be read, since the webhook's ServiceAccount may not get {PLURAL} (403): "
    "install its role, with templates.enabled of the chart",
}
"""By the code of an answer, why there is no template, and the remedy."""
NO_TEMPLATE: Final = (
    "cannot be read: the answer of the API server is no InferenceTemplate of this name, or has more than "
    f"{LARGEST} bytes: make it smaller"
)


@asynccontextmanager
async def reader(namespace: str, kubeconfig: str | None = None) -> AsyncIterator[ReadTemplates]:
    """Connect to the API server, and yield what reads templates; `namespace` is the operator's.

    Raises OSError without credentials.
    """
    try:
        client = await connect(kubeconfig)
    except ConfigError as error:
        raise OSError(f"--templates-namespace needs access to the Kubernetes API: {error}") from error
    try:
        yield partial(_templates, client, asyncio.Semaphore(READS), namespace)
    finally:
        await client.close()


async def _templates(client: Client, reads: asyncio.Semaphore, shared: str, wanted: Wanted) -> Templates:
    """Read templates, all at once, and each in both namespaces: that of the request counts first."""
    namespaces = tuple(dict.fromkeys((wanted.namespace, shared)))

    async def template(name: str) -> Object | Unavailable:
        if not is_subdomain(name) or not all(map(is_label, namespaces)):
            return Unavailable("cannot exist, since this is no name of an object: correct the name")
        found = await asyncio.gather(*(_attempts(client, reads, each, name) for each in namespaces))
        absent = f"does not exist in namespace {' or '.join(namespaces)}: {APPLY_IT}"
        return next((one for one in found if one is not None), Unavailable(absent))

    found = await asyncio.gather(*map(template, wanted.names))
    return dict(zip(wanted.names, found, strict=True))


async def _attempts(
    client: Client, reads: asyncio.Semaphore, namespace: str, name: str
) -> Object | Unavailable | None:
    """Read one template of one namespace, with one more attempt; None if it does not exist."""
    path = api_path(f"/apis/{API_VERSION}/namespaces", namespace, PLURAL, name)
    fault = Unavailable(NO_TEMPLATE)
    for pause in (PAUSE, 0.0):
        try:
            async with reads:
                found = await client.call(get(path), ATTEMPT_SECONDS, LARGEST)
        except ApiError as error:
            if error.code == NOT_FOUND and error.named:
                return None
            now = f"cannot be read now: the API server answered {error.code}; try again"
            fault = Unavailable(REFUSED.get(error.code, now))
            if error.code != HTTPStatus.TOO_MANY_REQUESTS and error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
                return fault
        except NO_ANSWER:
            fault = Unavailable("cannot be read now: the API server did not answer; try again")
        except (AnswerTooLargeError, ValueError):
            return Unavailable(NO_TEMPLATE)
        else:
            of = metadata(found)
            is_it = (found.get("kind"), of.get("name"), of.get("namespace")) == (KIND, name, namespace)
            return found if is_it else Unavailable(NO_TEMPLATE)
        await asyncio.sleep(pause)
    return fault
