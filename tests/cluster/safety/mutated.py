"""The command with one old fault put back: SAFETY_MUTATION names it in the table of `mutations.py`."""

import os

from fusioninfer.cli import main
from tests.cluster.safety.mutations import MUTATIONS

if __name__ == "__main__":
    MUTATIONS[os.environ["SAFETY_MUTATION"]].put_back()
    main()
