"""The command, which gives up a watch after seconds without a bookmark instead of minutes."""

from fusioninfer.cli import main
from kube import client

SILENCE = 8.0

if __name__ == "__main__":
    client.SILENCE = SILENCE  # type: ignore[misc] # a constant of the process
    main()
