"""Send the patches of a refresh: again where another try may pass, and with a remedy where none did."""

import asyncio
from http import HTTPStatus
from typing import Final

from fusioninfer.cluster.reader import Reader, why
from intent import Object
from kube.client import NO_ANSWER, NOT_FOUND, ApiError
from kube.request import Request

PAUSES: Final = (0.5, 2.0, 5.0)
"""Seconds before each further try."""
LONGEST: Final = 10.0
"""The longest pause that an answer may ask for, in seconds."""
RETRIED: Final = frozenset(
    {
        HTTPStatus.CONFLICT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""The answers after which the same patch may pass. It has the same effect twice as once."""
_UID: Final = "metadata.uid"
"""The field that the API server names if an object of this name has another uid."""
AGAIN: Final = "run the command again"


class FailedError(Exception):
    """Raised for a patch that was not answered, or was refused: the message names the object."""


async def sent(reader: Reader, request: Request, name: str) -> Object:
    """Send a patch that may be sent twice, and return the object; `name` is what messages call it.

    Raises `FailedError`.
    """
    for pause in PAUSES:
        try:
            return await reader.send(request)
        except ApiError as error:
            if error.code not in RETRIED:
                raise FailedError(_message(error, name)) from error
            await asyncio.sleep(min(max(pause, error.retry_after), LONGEST))
        except NO_ANSWER:
            await asyncio.sleep(pause)
    try:
        return await reader.send(request)
    except (ApiError, *NO_ANSWER) as error:
        raise FailedError(_message(error, name)) from error


def _message(error: BaseException, name: str) -> str:
    """Return what went wrong with an object, and the remedy."""
    if not isinstance(error, ApiError):
        return f"the API server did not answer for {name} ({why(error)}); {AGAIN}"
    if error.code == NOT_FOUND or _UID in str(error):
        return f"{name} was deleted meanwhile; {AGAIN}"
    return f"{name}: {why(error)}" + (f"; {AGAIN}" if error.code in RETRIED else "")
