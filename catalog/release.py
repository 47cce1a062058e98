"""The release of FusionInfer: the only place of its version, and of the address of its site."""

from typing import Final

VERSION: Final = "0.1.0"
SITE: Final = "https://fusioninfer.github.io/fusioninfer"
"""Where the documentation is published: links of the command lead there."""
