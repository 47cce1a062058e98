"""The command line of a container: words, flags and scripts, engine by engine, and what they start."""
