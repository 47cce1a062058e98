"""What the subcommands for a cluster share: options, the connection, and the namespace of the context."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, NamedTuple, TypeVar

from fusioninfer.cli.options import (
    CONTEXT,
    KUBECONFIG,
    CommandFunction,
    exit_unreadable,
    namespace_option,
    output_option,
)
from fusioninfer.cluster.reader import NotFoundError, Reader, UnreachableError
from kube.client import ConfigError, connect, home_namespace

T = TypeVar("T")
HOME: Final = namespace_option("The namespace of the service. Default: the context's.")
OUTPUT: Final = output_option("text", "json")


class Cluster(NamedTuple):
    """The cluster that a user named: a kubeconfig and a context of it, or the default ones."""

    kubeconfig: str | None
    context: str | None

    def read(self, reading: Callable[[Reader], Awaitable[T]]) -> T:
        """Connect, read, and disconnect; exit if the cluster cannot be read."""

        async def run() -> T:
            client = await connect(*self)
            try:
                return await reading(Reader(client))
            finally:
                await client.close()

        try:
            return asyncio.run(run())
        except (ConfigError, NotFoundError, UnreachableError) as error:
            exit_unreadable(error)

    def namespace(self, named: str) -> str:
        """Return the namespace that was named, else that of the context; exit without a kubeconfig."""
        try:
            return named or home_namespace(*self)
        except ConfigError as error:
            exit_unreadable(error)


def CLUSTER(command: CommandFunction) -> CommandFunction:  # noqa: N802 - used as a decorator, like the options
    """Add --kubeconfig and --context; the command gets them as `cluster`."""

    @KUBECONFIG
    @CONTEXT
    @wraps(command)
    def called(*, kubeconfig: str | None, context: str | None, **others: Any) -> Any:
        return command(cluster=Cluster(kubeconfig, context), **others)

    return called
