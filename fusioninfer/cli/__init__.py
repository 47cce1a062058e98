"""The command. A subcommand is imported when it runs: `--version` and `--help` load nothing else."""

from typing import Final

import click

from catalog.release import VERSION
from fusioninfer.cli.program import CommandGroup

EXAMPLES: Final = """\b
Examples:
  fusioninfer validate service.yaml    # what a cluster would report
  fusioninfer expand service.yaml      # the objects as a cluster would store them
  fusioninfer explain service.yaml     # the reason for each added field
  fusioninfer codes FI308              # the cause and the remedy of a finding

Exit codes: 0 success; 1 findings; 2 an input that cannot be read, or wrong usage.
"""


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(VERSION, prog_name="fusioninfer")
def main() -> None:
    """Turn annotated LeaderWorkerSets into gang-scheduled, multi-node LLM services."""
