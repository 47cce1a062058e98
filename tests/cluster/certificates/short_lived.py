"""The command with serving certificates that last for seconds and a CA that lasts less than a minute."""

from datetime import timedelta

from certs.rotation import Terms
from fusioninfer.cli import main
from tests.cluster.certificates.hurried import hurry

if __name__ == "__main__":
    hurry(Terms(ca=timedelta(seconds=36), serving=timedelta(seconds=12)))
    main()
