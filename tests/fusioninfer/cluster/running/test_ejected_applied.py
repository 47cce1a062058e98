"""The ejected manifest applied to an object that still has annotations and record, without the steps.

Client-side and server-side apply leave the record on the object, since no file ever had it. The file that was
applied has the expanded fields, so they are its author's, and they stay.
"""

import pytest

from intent.annotations import PREFIX
from tests.fusioninfer.cluster.test_eject import (
    CREATORS,
    FILES,
    SERVER,
    Client,
    ejected,
    specified,
    stored,
)
from tests.laws.convergence.files import File

APPLIES = {name: CREATORS[name] for name in ("client-side apply", "server-side apply")}


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("creator", CREATORS.values(), ids=CREATORS.keys())
@pytest.mark.parametrize("client", APPLIES.values(), ids=APPLIES.keys())
def test_applying_the_ejected_manifest_changes_no_spec(client: Client, creator: Client, file: File) -> None:
    live = stored(file, creator)

    written = client(live, ejected(live))
    assert written is not None
    once = SERVER.admit(written, live)
    again = client(once, ejected(live))
    twice = SERVER.admit(again, once) if again else once

    assert specified(once) == specified(live)
    assert specified(twice) == specified(live)


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("creator", APPLIES.values(), ids=APPLIES.keys())
def test_applying_the_ejected_manifest_leaves_nothing_of_ours(creator: Client, file: File) -> None:
    live = stored(file, creator)

    written = creator(live, ejected(live))
    assert written is not None
    now = SERVER.admit(written, live)

    assert not [key for key in now["metadata"]["annotations"] if key.startswith(PREFIX)]
