"""The command, whose leaves last for seconds and whose authorities for less than a minute."""

from datetime import timedelta

from certs.rotation import Terms
from fusioninfer.cli import main
from tests.cluster.certificates.hurried import hurry

if __name__ == "__main__":
    hurry(Terms(ca=timedelta(seconds=45), serving=timedelta(seconds=15)))
    main()
