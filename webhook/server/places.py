"""Where an exception comes from, for the log. Not its message: that may quote an object."""

import traceback
from typing import Any


def origin(error: BaseException) -> dict[str, Any]:
    """Give the type of an exception, and the places it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "trace": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
