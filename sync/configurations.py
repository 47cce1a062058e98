"""Reads the configuration that a router refers to: live and by name.

ConfigMaps of users are not watched: the controller would hold those of the whole cluster.
"""

from typing import Final

from intent.inferenceservice.read import InferenceServiceIntent
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client
from kube.request import get
from sync.kinds import OUTPUTS
from sync.observed.configuration import KIND, Configuration, configuration, reference, unread

CONFIG_MAPS: Final = OUTPUTS[KIND]


async def read_configuration(client: Client, service: InferenceServiceIntent | None) -> Configuration | None:
    """Read the configuration of a router; None if it refers to none. An error is part of the answer."""
    ref = reference(service)
    if service is None or ref is None:
        return None
    try:
        return configuration(ref, await client.call(get(CONFIG_MAPS.path(service.namespace, ref.name))))
    except ApiError as error:
        if error.code == NOT_FOUND and error.named:
            return configuration(ref, None)
        return unread(ref, str(error))
    except NO_ANSWER as error:
        return unread(ref, str(error) or type(error).__name__)
