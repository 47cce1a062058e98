"""The command, whose webhook drains for fewer seconds: here readiness is asked for once a second."""

from functools import partial

from fusioninfer.cli import main
from server import admission
from webhook.server.listen import Limits

if __name__ == "__main__":
    vars(admission).update(Limits=partial(Limits, drain_seconds=6.0))
    main()
