"""The command, which thinks that a Lease has run out before it has."""

from tests.cluster.chaos.clocks import run_at

if __name__ == "__main__":
    run_at(1.15)
