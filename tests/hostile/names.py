"""Names that no object can have, as a user may write them where an object names another one."""

from typing import Final

IMPOSSIBLE: Final = (
    *("", ".", "..", "../x", "../../b/configmaps/y", "../../../../../api/v1/namespaces/b/secrets/y"),
    *("%2e%2e/x", "%2e%2e", "%2E%2E%2Fb", "a/b", "/x", "x/", "a//b", "x?watch=1", "x#y", "x\\..\\y"),
    *("x" * 300, "x\ny", "x\r\nHost: y", "x y", "x\x00y", "X", "é", "\u202ex", "\ud800", "-x", "x.", "*"),
)
