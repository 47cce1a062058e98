"""Run the command: as `fusioninfer`, `python -m fusioninfer`, and as `kubectl fusioninfer`."""

import io
import sys


def run() -> None:
    """Run the command of the arguments, and exit with its code.

    What is not printed on a terminal is UTF-8, whatever the locale: kubectl reads nothing else.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None if the process was started without it
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    try:
        # imported here: that takes half a second, in which an interrupt is as good as later
        from fusioninfer.cli import main  # noqa: PLC0415 - see above

        main(prog_name="fusioninfer")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
