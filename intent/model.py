"""The model of a service: its URI, and where its files are kept. Each scheme has a strict grammar.

Sources: KServe's storage initializer (kserve/kserve `python/storage`) for `hf`, `s3`, `gs` and `https`;
llm-d's charts for `pvc` and `pvc+hf`; KServe's modelcars for `oci`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from intent.errors import nearest, suggested
from intent.names import DNS_SUBDOMAIN, SUBDOMAIN
from intent.shapes import quantity

Scheme = Literal["hf", "pvc", "pvc+hf", "oci", "s3", "gs", "https"]

MODELS: Final = "/mnt/models"
"""Where a model is mounted that is files: KServe's path."""
CACHE: Final = "/model-cache"
"""Where the cache is mounted of an engine that downloads the model itself: llm-d's path."""
VOLUME: Final = "fusioninfer-model"
"""The volume at either path."""
SECRET_VOLUME: Final = "fusioninfer-model-secret"  # noqa: S105 - the name of a volume
INITIALIZER: Final = "storage-initializer"
"""The init container that downloads a model. Its name, and its arguments, are KServe's."""
IN_IMAGE: Final = "models"
"""The directory of the model in an image: that of KServe's modelcars."""
DOWNLOAD: Final = "download"

_LONGEST: Final = 1024
"""Characters of a URI: S3 limits keys to that many."""
REFERENCE: Final = re.compile(r"\$\([^)]*\)")
"""A variable of the kubelet, which replaces it in arguments.

It takes the value from the container's environment. That is the author's for the engine and the Secret for
what downloads a model: one text would mean two things, and a key of the Secret could become part of an
address. A text that is meant to be replaced belongs to an InferenceTemplate.
"""


@dataclass(frozen=True, slots=True)
class Uri:
    """A model URI, taken apart. A part that its scheme does not have is empty."""

    scheme: Scheme
    text: str
    """As it was written."""
    repository: str = ""
    """`org/name` on Hugging Face."""
    revision: str = ""
    claim: str = ""
    """The name of a PersistentVolumeClaim."""
    path: str = ""
    """A directory in the claim or in the image, without slashes at its ends; empty: all of it."""
    image: str = ""


@dataclass(frozen=True, slots=True)
class ModelCache:
    """Where the files of a model are kept: in a claim, or with the pod."""

    claim: str = ""
    path: str = ""
    size: str = ""
    """The most that an emptyDir may hold, as a quantity."""
    download: bool = False
    """Whether an init container downloads a model that the engine could download itself."""


NO_CACHE: Final = ModelCache()


@dataclass(frozen=True, slots=True)
class Model:
    """What the annotations say of the model."""

    uri: Uri
    name: str
    """The name under which the engine serves it; empty: the engine's own default."""
    secret: str = ""
    cache: ModelCache = NO_CACHE

    @property
    def is_downloaded(self) -> bool:
        """Whether an init container downloads it before the engine starts."""
        return self.uri.scheme in DOWNLOADED or (self.uri.scheme == "hf" and self.cache.download)

    @property
    def is_cached(self) -> bool:
        """Whether the engine downloads it, or finds it in the cache of Hugging Face's libraries."""
        return self.uri.scheme in HUGGING_FACE and not self.is_downloaded

    @property
    def argument(self) -> str:
        """The engine's argument: the name of a repository, or a path."""
        if self.is_cached:
            return self.uri.repository
        in_image = self.uri.path if self.uri.scheme == "oci" else ""
        return f"{MODELS}/{in_image}" if in_image else MODELS

    @property
    def revision(self) -> str:
        """The revision that the engine is to download; empty for its default, and for files."""
        return self.uri.revision if self.is_cached else ""

    @property
    def mount(self) -> str:
        """Where its volume is mounted in the engine."""
        return CACHE if self.is_cached else MODELS

    def mounted_by_author(self, mounts: Iterable[str], of_volume: Iterable[str]) -> bool:
        """Return whether an engine has another volume at its path, by all mounts and those of its volume."""
        own = set(mounts).difference(of_volume)
        return any(path.rstrip("/") == self.mount for path in own)


DOWNLOADED: Final = frozenset({"s3", "gs", "https"})
"""The schemes that no engine reads: an init container downloads them."""
HUGGING_FACE: Final = frozenset({"hf", "pvc+hf"})
NEED_NO_SECRET: Final = frozenset({"pvc", "oci"})
KEPT_ELSEWHERE: Final = frozenset({"pvc", "pvc+hf", "oci"})
"""The schemes whose files are not the pod's own, so that there is nothing to keep."""


def read_model(uri: str, name: str, secret: str, cache: str, service: str) -> Model | None:
    """Read the values of the annotations, which were checked; None without a model.

    A model that is files would be served under its path: then the default is the name of the service.
    """
    parts = read_uri(uri) if uri else None
    if not isinstance(parts, Uri):
        return None
    kept = read_cache(cache)
    model = Model(parts, name, secret, kept if isinstance(kept, ModelCache) else NO_CACHE)
    return model if name or model.is_cached else Model(parts, service, secret, model.cache)


# --- URIs -----------------------------------------------------------------------------------------------


class Grammar(NamedTuple):
    """The URIs of one scheme."""

    form: str
    """How they are written, for messages."""
    rest: re.Pattern[str]
    """What follows `://`, with groups named as the parts of a `Uri`."""


_HF_NAME: Final = r"[A-Za-z0-9](?:(?:(?!--|\.\.)[-A-Za-z0-9_.]){0,94}[A-Za-z0-9])?"
"""A segment of a repository (`huggingface_hub` `utils/_validators.py`, `validate_repo_id`)."""
_REPOSITORY: Final = f"(?P<repository>{_HF_NAME}/{_HF_NAME})"
_CLAIM: Final = rf"(?P<claim>(?![^/]{{{SUBDOMAIN + 1}}}){DNS_SUBDOMAIN})"
_SEGMENT: Final = r"(?!\.{1,2}(?:/|$))[-A-Za-z0-9_.=@+]{1,255}"
_PATH: Final = f"(?P<path>{_SEGMENT}(?:/{_SEGMENT})*)"
_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = (
    r"(?P<image>(?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
    rf"{_COMPONENT}(?:/{_COMPONENT})*(?::[A-Za-z0-9_][-A-Za-z0-9_.]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?)"
)
"""A reference of an image (`distribution/reference` `regexp.go`)."""
_BUCKET: Final = r"[a-z0-9][-a-z0-9._]{1,220}[a-z0-9](?:/[^\s?#\\]*)?"

GRAMMARS: Final[dict[Scheme, Grammar]] = {
    "hf": Grammar(
        "hf://ORG/NAME or hf://ORG/NAME:REVISION, with a branch, a tag or a commit without '/'",
        re.compile(rf"{_REPOSITORY}(?::(?P<revision>[A-Za-z0-9][-A-Za-z0-9_.]{{0,127}}))?"),
    ),
    "pvc": Grammar("pvc://CLAIM or pvc://CLAIM/PATH", re.compile(f"{_CLAIM}(?:/{_PATH}?/?)?")),
    "pvc+hf": Grammar(
        "pvc+hf://CLAIM/ORG/NAME or pvc+hf://CLAIM/PATH/ORG/NAME",
        re.compile(f"{_CLAIM}/(?:{_PATH}/)?{_REPOSITORY}"),
    ),
    "oci": Grammar(
        "oci://IMAGE or oci://IMAGE#PATH with a directory of the image, "
        "for example oci://registry.example.com/models/llama:v1",
        re.compile(f"{_IMAGE}(?:(?P<inside>#){_PATH}?/?)?"),
    ),
    "s3": Grammar("s3://BUCKET/PREFIX without spaces, '?', '#' or backslashes", re.compile(_BUCKET)),
    "gs": Grammar("gs://BUCKET/PREFIX without spaces, '?', '#' or backslashes", re.compile(_BUCKET)),
    "https": Grammar(
        "https://HOST/PATH, the address of a file or an archive; a password belongs in model-secret",
        re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*(?::[0-9]{1,5})?/[^\s#]+"),
    ),
}
SCHEMES: Final = tuple(GRAMMARS)
_ALL: Final = ", ".join(f"{scheme}://" for scheme in SCHEMES)


def read_uri(text: str) -> Uri | str:
    """Take a model URI apart; return a message if it is invalid, which says what would be right."""
    if fault := _text_fault(text):
        return fault
    name, separator, rest = text.partition("://")
    if not separator:
        return _without_scheme(text)
    scheme = next((scheme for scheme in SCHEMES if scheme == name), None)
    if scheme is None:
        meant = nearest(name, SCHEMES)
        return f"must begin with one of {_ALL}{suggested(meant and f'{meant}://')}"
    match = GRAMMARS[scheme].rest.fullmatch(rest)
    if match is None:
        return f"must be {GRAMMARS[scheme].form}"
    parts = {name: part or "" for name, part in match.groupdict().items()}
    if scheme == "oci" and not parts.pop("inside"):
        parts["path"] = IN_IMAGE
    return Uri(scheme, text, **parts)


def _text_fault(text: str) -> str:
    """Return what is wrong with a text that no URI may be; empty if nothing is."""
    if len(text) > _LONGEST:
        return f"must be at most {_LONGEST} characters"
    if match := REFERENCE.search(text):
        return f"must not contain {match[0][:80]}, which the kubelet would replace: write the text itself"
    return ""


def _without_scheme(text: str) -> str:
    parts = text.split("/")
    if len(parts) == 2 and re.fullmatch(_HF_NAME, parts[0]):
        return f"must be a URI: for a model of Hugging Face write hf://{text[:80]}"
    return f"must be a URI that begins with one of {_ALL}"


# --- the cache ------------------------------------------------------------------------------------------

_CACHES: Final = "must be pvc://CLAIM/PATH, a size such as 500Gi, download, or download,SIZE"


def read_cache(text: str) -> ModelCache | str:
    """Read the value of `model-cache`; return a message if it is invalid."""
    if not text:
        return NO_CACHE
    if text.startswith("pvc://"):
        uri = read_uri(text)
        return uri if isinstance(uri, str) else ModelCache(uri.claim, uri.path)
    words = [word.strip() for word in text.split(",")]
    sizes = [word for word in words if word != DOWNLOAD]
    if len(words) > 2 or len(sizes) > 1 or len(words) - len(sizes) > 1:
        return _CACHES
    if sizes and not ((amount := quantity(sizes[0])) and amount > 0):
        return f"{_CACHES}: {sizes[0][:80] or 'nothing'} is no size"
    return ModelCache(size="".join(sizes), download=DOWNLOAD in words)


def uri_fault(text: str) -> str:
    """Return what is wrong with a model URI; empty if nothing is."""
    uri = read_uri(text)
    return uri if isinstance(uri, str) else ""


def cache_fault(text: str) -> str:
    """Return what is wrong with the value of `model-cache`; empty if nothing is."""
    if not text:
        return _CACHES
    cache = read_cache(text)
    return cache if isinstance(cache, str) else ""
