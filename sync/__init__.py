"""The thin loop: the only code that talks to the API server."""
