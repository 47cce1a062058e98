"""What the subcommands for a cluster share: options, the connection, and the namespace of the context."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import click

from fusioninfer.cli.options import Namespace, exit_unreadable, output_option
from fusioninfer.cluster.reader import NotFoundError, Reader, UnreachableError
from kube.client import ConfigError, connect
from kube.client import home_namespace as home

T = TypeVar("T")
HOME: Final = click.option(
    "-n",
    "--namespace",
    type=Namespace(),
    default="",
    help="The namespace of the service. Default: the context's.",
)
OUTPUT: Final = output_option("text", "json")


def read(kubeconfig: str | None, context: str | None, reading: Callable[[Any], Awaitable[T]]) -> T:
    """Connect, read, and disconnect; exit if the cluster cannot be read."""

    async def run() -> T:
        client = await connect(kubeconfig, context)
        try:
            return await reading(Reader(client))
        finally:
            await client.close()

    try:
        return asyncio.run(run())
    except (ConfigError, NotFoundError, UnreachableError) as error:
        exit_unreadable(error)


def home_namespace(kubeconfig: str | None, context: str | None) -> str:
    """Return the namespace of the context; exit without a kubeconfig."""
    try:
        return home(kubeconfig, context)
    except ConfigError as error:
        exit_unreadable(error)
