"""The command line of a container: arguments, flags and shell scripts, and the engine that they start."""
