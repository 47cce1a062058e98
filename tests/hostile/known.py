"""Objects that end as our bug (500) today. Each row goes when its fault does: a test sees to that."""

import traceback
from typing import Any, Final

from tests.lws import container, lws, template


def with_env(*env: Any) -> Any:
    """Make an object whose engine has these variables, and names one of them."""
    return lws(worker=template(container(args=["$(M)"], env=list(env))))


MULTIPLIED: Final = ["m", "--kv-transfer-config", "$(A)" * 350_000]
KNOWN: Final[dict[str, Any]] = {
    "a variable whose name is a map": with_env({"name": {}}),
    "a variable whose name is a list": with_env({"name": []}),
    "a variable whose value is a map": with_env({"name": "M", "value": {}}),
    "variables that multiply to half a terabyte": lws(
        worker=template(container(args=MULTIPLIED, env=[{"name": "A", "value": "x" * 1_500_000}]))
    ),
}

_PLACES: Final = frozenset(
    {("container.py", "_watched"), ("container.py", "_variables"), ("<string>", "__hash__")}
)


def is_known(error: BaseException) -> bool:
    """Whether an exception comes from where those do."""
    frames = traceback.extract_tb(error.__traceback__)
    names = {(frame.filename.rpartition("/")[2], frame.name) for frame in frames}
    return isinstance(error, TypeError) and "unhashable" in str(error) and bool(names & _PLACES)
