"""Run the command: as `fusioninfer`, `python -m fusioninfer`, and as `kubectl fusioninfer`."""

import sys


def run() -> None:
    """Run the command of the arguments, and exit with its code."""
    try:
        # imported here: that takes half a second, in which an interrupt is as good as later
        from fusioninfer import streams  # noqa: PLC0415 - see above
        from fusioninfer.cli import main  # noqa: PLC0415 - see above
        from fusioninfer.plugin import program_name  # noqa: PLC0415 - see above

        with streams.opened():
            main(prog_name=program_name(sys.argv[0]))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
