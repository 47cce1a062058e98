"""The names of SGLang's kernels for CPUs, which are in no registry; a CPU without AMX calls none of them."""

import sys
from typing import NoReturn

sys.modules[f"{__name__}.mamba"] = sys.modules[__name__]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_words: object, **_more: object) -> NoReturn:
        raise NotImplementedError(f"sgl_kernel.{name}")

    return missing
