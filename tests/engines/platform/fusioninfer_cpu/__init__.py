"""A platform of vLLM for tests: its CPU platform, without limits that no GPU has. See `platform.py`."""


def register() -> str:
    """Name the platform; vLLM imports it later."""
    return "fusioninfer_cpu.platform.Ranks"
