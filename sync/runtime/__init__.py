"""The parts of a controller that do I/O or read the clock: caches, queue, Lease, Events."""
