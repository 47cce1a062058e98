"""Model URIs and caches: what each scheme accepts, and what an author reads about the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.model import (
    NO_CACHE,
    SCHEMES,
    Model,
    ModelCache,
    Uri,
    cache_fault,
    read_cache,
    read_model,
    read_uri,
    uri_fault,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hf://org/name", Uri("hf", "hf://org/name", "org/name")),
        ("hf://Qwen/Qwen3-8B:main", Uri("hf", "hf://Qwen/Qwen3-8B:main", "Qwen/Qwen3-8B", "main")),
        ("pvc://claim", Uri("pvc", "pvc://claim", claim="claim")),
        ("pvc://claim/", Uri("pvc", "pvc://claim/", claim="claim")),
        ("pvc://claim/a/b/", Uri("pvc", "pvc://claim/a/b/", claim="claim", path="a/b")),
        ("pvc+hf://c/org/m", Uri("pvc+hf", "pvc+hf://c/org/m", "org/m", claim="c")),
        ("pvc+hf://c/a/b/org/m", Uri("pvc+hf", "pvc+hf://c/a/b/org/m", "org/m", claim="c", path="a/b")),
        (
            "oci://reg:5000/a/b:v1",
            Uri("oci", "oci://reg:5000/a/b:v1", image="reg:5000/a/b:v1", path="models"),
        ),
        ("oci://a/b#", Uri("oci", "oci://a/b#", image="a/b")),
        ("oci://a/b#x/y", Uri("oci", "oci://a/b#x/y", image="a/b", path="x/y")),
        (
            "oci://a/b@sha256:" + "a" * 64,
            Uri("oci", "oci://a/b@sha256:" + "a" * 64, image="a/b@sha256:" + "a" * 64, path="models"),
        ),
        ("s3://bucket/a b", None),
        ("s3://bucket", Uri("s3", "s3://bucket")),
        ("s3://bucket/models/m", Uri("s3", "s3://bucket/models/m")),
        ("gs://bucket/m", Uri("gs", "gs://bucket/m")),
        ("https://example.com:8443/m.tar.gz?a=b", Uri("https", "https://example.com:8443/m.tar.gz?a=b")),
    ],
)
def test_a_uri_is_taken_apart(text: str, found: Uri | None) -> None:
    assert (read_uri(text) if found else None) == found
    assert bool(uri_fault(text)) == (found is None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one of hf://, pvc://, pvc+hf://, oci://, s3://, gs://, https://"),
        ("opt-125m", "must be a URI that begins with one of"),
        ("facebook/opt-125m", "for a model of Hugging Face write hf://facebook/opt-125m"),
        ("/mnt/models", "must be a URI that begins with one of hf://, pvc://"),
        ("file:///x", "must begin with one of hf://, pvc://"),
        ("http://host/m", "did you mean https://"),
        ("HF://org/m", "did you mean hf://"),
        ("ftp://host/m", "must begin with one of"),
        (" hf://org/m", "did you mean hf://"),
        ("'hf://org/m'", "did you mean hf://"),
        ("hf://org/m\n", "must be hf://ORG/NAME"),
        ("hf://gpt2", "must be hf://ORG/NAME"),
        ("hf://a/b/c", "must be hf://ORG/NAME"),
        ("hf://org/", "must be hf://ORG/NAME"),
        ("hf://org/a..b", "must be hf://ORG/NAME"),
        ("hf://org/name:", "a branch, a tag or a commit"),
        ("hf://org/name:refs/pr/1", "without '/'"),
        ("pvc://", "must be pvc://CLAIM"),
        ("pvc://My_Claim/a", "must be pvc://CLAIM"),
        (f"pvc://{'a' * 254}", "must be pvc://CLAIM"),
        ("pvc://claim/../etc", "pvc://CLAIM/PATH"),
        ("pvc://claim/a/..", "pvc://CLAIM/PATH"),
        ("pvc://claim//a", "pvc://CLAIM/PATH"),
        ("pvc+hf://claim/org", "must be pvc+hf://CLAIM/ORG/NAME"),
        ("pvc+hf://claim/../org/m", "must be pvc+hf://CLAIM/ORG/NAME"),
        ("oci://Reg/Img", "must be oci://IMAGE"),
        ("oci://reg/img:", "must be oci://IMAGE"),
        ("oci://reg/img#../x", "with a directory of the image"),
        ("s3://", "must be s3://BUCKET/PREFIX"),
        ("s3://Bucket/m", "must be s3://BUCKET/PREFIX"),
        ("s3://bucket/a b", "without spaces"),
        ("https://example.com", "https://HOST/PATH"),
        ("https://user:password@host/m", "a password belongs in model-secret"),
        ("s3://bucket/" + "a" * 2000, "at most 1024 characters"),
    ],
)
def test_a_wrong_uri_is_answered_with_what_would_be_right(text: str, says: str) -> None:
    assert says in uri_fault(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", NO_CACHE),
        ("500Gi", ModelCache(size="500Gi")),
        ("download", ModelCache(download=True)),
        ("download, 1Ti", ModelCache(size="1Ti", download=True)),
        ("pvc://claim", ModelCache("claim")),
        ("pvc://claim/a/b", ModelCache("claim", "a/b")),
        ("/models", None),
        ("-1Gi", None),
        ("0", None),
        ("1Gi,2Gi", None),
        ("download,download", None),
        ("download,", None),
        ("pvc://a/..", None),
        ("pvc://a,download", None),
    ],
)
def test_a_cache_is_a_claim_a_size_or_a_download(text: str, found: ModelCache | None) -> None:
    assert (read_cache(text) if found else None) == found
    assert bool(cache_fault(text)) == (found is None or not text)


def model(uri: str, *, name: str = "", cache: str = "") -> Model:
    """Return a model of the service `svc`."""
    found = read_model(uri, name, "", cache, "svc")
    assert found
    return found


@pytest.mark.parametrize(
    ("uri", "cache", "argument", "revision", "name"),
    [
        ("hf://org/m:v1", "", "org/m", "v1", ""),
        ("hf://org/m:v1", "download", "/mnt/models", "", "svc"),
        ("pvc+hf://c/a/org/m", "", "org/m", "", ""),
        ("pvc://c/a", "", "/mnt/models", "", "svc"),
        ("oci://reg/m", "", "/mnt/models/models", "", "svc"),
        ("oci://reg/m#", "", "/mnt/models", "", "svc"),
        ("s3://bucket/m", "5Gi", "/mnt/models", "", "svc"),
    ],
)
def test_engines_get_a_repository_or_path(
    uri: str, cache: str, argument: str, revision: str, name: str
) -> None:
    found = model(uri, cache=cache)

    assert (found.argument, found.revision, found.name) == (argument, revision, name)
    assert model(uri, name="mine", cache=cache).name == "mine"


def test_a_mount_of_the_author_is_one_of_another_volume() -> None:
    found = model("pvc://claim")

    assert found.mounted_by_author(("/a", "/mnt/models/"), ())
    assert not found.mounted_by_author(("/mnt/models",), ("/mnt/models",))
    assert not found.mounted_by_author(("/mnt/models/x", "/mnt"), ())


@given(st.sampled_from(("", *(f"{one}://" for one in SCHEMES))), st.text(max_size=30))
def test_reading_never_raises_and_a_message_is_one_sentence(scheme: str, rest: str) -> None:
    found = read_uri(scheme + rest)
    fault = found if isinstance(found, str) else ""

    assert isinstance(found, Uri) != bool(fault)
    assert fault == "" or fault.startswith("must")
