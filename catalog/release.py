"""The release of FusionInfer: the only place of its version."""

from typing import Final

VERSION: Final = "0.1.0"
