"""The parts of the controller that do I/O or read the clock: caches, queue, Lease, Events, live reads."""
