"""Names that no object can have, as a user may write them for another one, and a text for a terminal."""

from typing import Final

IMPOSSIBLE: Final = (
    *("", ".", "..", "../x", "../../b/configmaps/y", "../../../../../api/v1/namespaces/b/secrets/y"),
    *("%2e%2e/x", "%2e%2e", "%2E%2E%2Fb", "a/b", "/x", "x/", "a//b", "x?watch=1", "x#y", "x\\..\\y"),
    *("x" * 300, "x\ny", "x\r\nHost: y", "x y", "x\x00y", "X", "é", "\u202ex", "\ud800", "-x", "x.", "*"),
)
HOSTILE: Final = (
    "$(id);`id`|id&\n::error::x\r<script>alert(1)</script>"
    "\x1b[31m\x9b2J\x85\x7f\u202e\u2066\u2028\U000e0001'\""
)
"""Characters that a shell, a CI log, a page or a terminal acts on, and marks of direction."""
