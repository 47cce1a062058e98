"""An event loop whose time passes at once while nothing is to be done."""

import asyncio
import selectors


class _Selector(selectors.DefaultSelector):
    """Waits for sockets: when none is ready, the time until the next timer has passed."""

    passed = 0.0
    timers = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, or move the time on."""
        ready = super().select(timeout and min(timeout, 0.002))
        if timeout and not ready:
            self.passed += timeout
            self.timers += 1
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop for clients and servers that are all in this process; `time.monotonic` skips nothing."""

    def __init__(self) -> None:
        self._own = _Selector()
        super().__init__(self._own)

    def time(self) -> float:
        """Return the time, with what was skipped."""
        return super().time() + self._own.passed

    @property
    def timers(self) -> int:
        """How often it woke up for a timer alone."""
        return self._own.timers


def virtual_time() -> VirtualTimeLoop:
    """Return the running event loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return loop
