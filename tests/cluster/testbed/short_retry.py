"""The command, whose controller repeats a write that was refused after seconds instead of half a minute."""

from fusioninfer.cli import main
from sync import controller

if __name__ == "__main__":
    vars(controller).update(RETRY_REFUSED=3.0)
    main()
