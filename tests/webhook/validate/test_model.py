"""The model in an image, by the version of the cluster; and an author's own download."""

import pytest

from intent.settings import Settings
from tests.builders.lws import container, lws, template
from webhook.check import check


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("", []),
        ("v1.30.4", ["FI323"]),
        ("1.31", []),
    ],
)
def test_an_image_is_mounted_by_clusters_that_can(version: str, codes: list[str]) -> None:
    plain = lws(2, template(container(args=["-tp", "8", "-pp", "2"])), model="oci://reg/m")

    found = check(plain, settings=Settings(kubernetes_version=version), mutated=False)

    assert [one.code for one in found if one.path.endswith("/model]")] == codes


@pytest.mark.parametrize(
    "args", [["s3://bucket/m", "/mnt/models"], ["s3://bucket/m", "/mnt/models", "s3://a/b", "/x"]]
)
def test_an_authors_own_download_may_do_more(args: list[str]) -> None:
    own = {"name": "storage-initializer", "image": "mine", "args": args}
    plain = template(container(args=["-tp", "8", "-pp", "2"]), initContainers=[own])

    assert [str(one) for one in check(lws(2, plain, model="s3://bucket/m"), mutated=False)] == []
