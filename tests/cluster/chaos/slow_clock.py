"""The command, which gives up the Lease later than it thinks."""

from tests.cluster.chaos.clocks import run_at

if __name__ == "__main__":
    run_at(0.85)
