"""Run the command with `python -m fusioninfer`."""

from fusioninfer.cli import main

main(prog_name="fusioninfer")
