"""`python -m fusioninfer` is `fusioninfer`."""

from fusioninfer.cli import main

main(prog_name="fusioninfer")
