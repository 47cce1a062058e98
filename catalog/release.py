"""The release of FusionInfer: the only place of its version, and of the address of its site."""

from typing import Final

VERSION: Final = "0.1.0"
SITE: Final = f"https://fusioninfer.github.io/fusioninfer/{VERSION.rpartition('.')[0]}"
"""Where the documentation of this release is published: links of the command lead there."""
