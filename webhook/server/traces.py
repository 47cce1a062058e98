"""The origin of an exception, for the log; without its message, which may quote an object."""

import traceback
from typing import Any


def origin(error: BaseException) -> dict[str, Any]:
    """Return the type of an exception as `error`, and the frames of its traceback as `trace`."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "trace": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
