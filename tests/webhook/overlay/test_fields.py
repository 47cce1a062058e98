"""Fields of one record that are reverted, or are a file's."""

from typing import Any, Final

import pytest

from webhook.overlay.fields import Recorded, revert_fields
from webhook.overlay.written import Unread

BOTH: Final = {"pool": "x", "disk": "y"}
NONE_THERE: Final = dict.fromkeys(BOTH)


@pytest.mark.parametrize(
    ("live", "replaced", "file", "left"),
    [
        pytest.param(BOTH, NONE_THERE, Unread(BOTH), {}, id="a call of this write may have injected both"),
        pytest.param(BOTH, None, Unread(BOTH), BOTH, id="the stored object had no such map of its author's"),
        pytest.param({"pool": "x"}, NONE_THERE, Unread(pool="x"), {"pool": "x"}, id="one field is gone"),
        pytest.param(BOTH, NONE_THERE, {"pool": "x"}, {"pool": "x"}, id="the file is known, with its values"),
    ],
)
def test_an_apply_of_a_map_with_one_owner_shows_names_and_no_values(
    live: Any, replaced: Any, file: Any, left: Any
) -> None:
    recorded = Recorded({"nodeSelector": BOTH}, {"nodeSelector": replaced}, {"nodeSelector": file})

    assert revert_fields({"nodeSelector": live}, recorded, {}) == {"nodeSelector": left}
