"""The model of a service: its URI, and where its files are kept. Each scheme has a strict grammar.

Sources: KServe's storage initializer (kserve/kserve `python/storage`) for `hf`, `s3`, `gs` and `https`;
llm-d's charts for `pvc` and `pvc+hf`; KServe's modelcars for `oci`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from intent.errors import nearest, suggested
from intent.names import is_subdomain
from intent.quantity import parse

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
_HF_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,94}[A-Za-z0-9])?")
"""A segment of a repository (`huggingface_hub` `utils/_validators.py`, `validate_repo_id`)."""
_REVISION: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,127}")
_SEGMENT: Final = re.compile(r"[-A-Za-z0-9_.=@+]{1,255}")
_BUCKET: Final = re.compile(r"[a-z0-9][-a-z0-9._]{1,220}[a-z0-9]")
_KEY: Final = re.compile(r"[^\s?#\\]+")
_HTTPS: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*(?::([0-9]{1,5}))?/[^\s#]+")
_QUOTES: Final = frozenset({'"', "'"})
REFERENCE: Final = re.compile(r"\$\([^)]*\)")
"""A variable of the kubelet, which replaces it in arguments.

It takes the value from the container's environment. That is the author's for the engine and the Secret for
what downloads a model: one text would mean two things, and a key of the Secret could become part of an
address. A text that is meant to be replaced belongs to an InferenceTemplate.
"""
_PORTS: Final = range(1, 65536)
_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
    rf"{_COMPONENT}(?:/{_COMPONENT})*(?::[A-Za-z0-9_][-A-Za-z0-9_.]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)
"""A reference of an image (`distribution/reference` `regexp.go`)."""


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

    @property
    def is_kept(self) -> bool:
        """Whether its author says where its files are kept."""
        return self.cache != NO_CACHE

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
    found = read_uri(uri) if uri else None
    if not isinstance(found, Uri):
        return None
    kept = read_cache(cache)
    model = Model(found, name, secret, kept if isinstance(kept, ModelCache) else NO_CACHE)
    return model if name or model.is_cached else Model(found, service, secret, model.cache)


# --- URIs -----------------------------------------------------------------------------------------------

UriReader = Callable[[str, str], Uri | str]
"""Reads a URI: the whole text, and what follows `://`. A string is the message about what is wrong."""


def read_uri(text: str) -> Uri | str:
    """Take a model URI apart; return a message if it is invalid, which says what would be right."""
    if fault := _text_fault(text):
        return fault
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _without_scheme(text)
    read = _READERS.get(scheme)
    if read is None:
        return f"must begin with one of {_ALL}{suggested(_meant(scheme))}"
    return read(text, rest)


def _text_fault(text: str) -> str:
    """Return what is wrong with a text that no URI may be; empty if nothing is."""
    if len(text) > _LONGEST:
        return f"must be at most {_LONGEST} characters"
    if text != text.strip():
        return "must not begin or end with a space or a line break: remove it"
    if is_quoted(text):
        return "must be without quotes: remove them"
    if found := REFERENCE.search(text):
        return f"must not contain {found[0][:80]}, which the kubelet would replace: write the text itself"
    return ""


def is_quoted(text: str) -> bool:
    """Return whether a text begins or ends with a quote, which YAML or a shell would have removed."""
    return text[:1] in _QUOTES or text[-1:] in _QUOTES


def _without_scheme(text: str) -> str:
    if text.startswith(("/", ".")):
        return "must be a URI, and a path is none: mount the files yourself, or use pvc://CLAIM/PATH"
    parts = text.split("/")
    if len(parts) == 2 and _HF_NAME.fullmatch(parts[0]):
        return f"must be a URI: for a model of Hugging Face write hf://{text[:80]}"
    return f"must be a URI that begins with one of {_ALL}"


_MEANT: Final = {
    "http": "https",
    "huggingface": "hf",
    "oci+native": "oci",
    "docker": "oci",
    "file": "pvc",
    "gcs": "gs",
    "s3a": "s3",
}
"""Schemes of other systems, and the nearest one here."""


def _meant(scheme: str) -> str:
    found = _MEANT.get(scheme.lower()) or nearest(scheme.lower(), _READERS)
    return f"{found}://" if found else ""


def _hf(text: str, rest: str) -> Uri | str:
    name, colon, revision = rest.partition(":")
    fault = _repository_fault(name)
    if fault:
        return f"must be hf://ORG/NAME or hf://ORG/NAME:REVISION: {fault}"
    if colon and not _REVISION.fullmatch(revision):
        return "must be hf://ORG/NAME:REVISION: the revision is a branch, a tag or a commit, without '/'"
    return Uri("hf", text, repository=name, revision=revision)


def _repository_fault(name: str) -> str:
    """Return what is wrong with the name of a repository; empty if nothing is."""
    parts = name.split("/")
    if len(parts) != 2:
        return f"{name[:80] or 'nothing'} is not an organization and a name"
    wrong = next((one for one in parts if not _HF_NAME.fullmatch(one) or ".." in one or "--" in one), None)
    return "" if wrong is None else f"{wrong[:80] or 'an empty part'} is no name of Hugging Face"


def _pvc(text: str, rest: str) -> Uri | str:
    claim, _, path = rest.partition("/")
    fault = _claim_fault(claim) or _path_fault(path)
    if fault:
        return f"must be pvc://CLAIM or pvc://CLAIM/PATH: {fault}"
    return Uri("pvc", text, claim=claim, path=path.rstrip("/"))


def _pvc_hf(text: str, rest: str) -> Uri | str:
    claim, _, path = rest.partition("/")
    parts = path.split("/")
    within, repository = "/".join(parts[:-2]), "/".join(parts[-2:])
    fault = _claim_fault(claim) or _repository_fault(repository) or _path_fault(within)
    if fault:
        return f"must be pvc+hf://CLAIM/ORG/NAME or pvc+hf://CLAIM/PATH/ORG/NAME: {fault}"
    return Uri("pvc+hf", text, repository=repository, claim=claim, path=within)


def _claim_fault(claim: str) -> str:
    return "" if is_subdomain(claim) else f"{claim[:80] or 'nothing'} is no name of a PersistentVolumeClaim"


def _path_fault(path: str) -> str:
    """Return what is wrong with a path in a volume, which may be empty and end with a slash."""
    parts = path.removesuffix("/").split("/") if path.removesuffix("/") else []
    wrong = next((one for one in parts if one in {".", ".."} or not _SEGMENT.fullmatch(one)), None)
    return "" if wrong is None else f"{wrong[:80] or 'an empty part'} cannot be part of the path"


def _oci(text: str, rest: str) -> Uri | str:
    image, mark, path = rest.partition("#")
    if not _IMAGE.fullmatch(image):
        return "must be oci://IMAGE, for example oci://registry.example.com/models/llama:v1"
    fault = _path_fault(path)
    if fault:
        return f"must be oci://IMAGE#PATH, with a directory of the image: {fault}"
    return Uri("oci", text, image=image, path=path.strip("/") if mark else IN_IMAGE)


def _bucket(scheme: Literal["s3", "gs"]) -> UriReader:
    def read(text: str, rest: str) -> Uri | str:
        bucket, _, key = rest.partition("/")
        if not _BUCKET.fullmatch(bucket):
            return f"must be {scheme}://BUCKET/PREFIX: {bucket[:80] or 'nothing'} is no name of a bucket"
        if key and not _KEY.fullmatch(key):
            return f"must be {scheme}://BUCKET/PREFIX: the prefix has a space, '?', '#' or a backslash"
        return Uri(scheme, text)

    return read


def _https(text: str, rest: str) -> Uri | str:
    if "@" in rest.partition("/")[0]:
        return "must not contain a password: put it into a Secret, and name that in model-secret"
    if not (found := _HTTPS.fullmatch(rest)) or int(found[1] or 1) not in _PORTS:
        return "must be https://HOST/PATH, the address of a file or an archive"
    return Uri("https", text)


_READERS: Final[dict[str, UriReader]] = {
    "hf": _hf,
    "pvc": _pvc,
    "pvc+hf": _pvc_hf,
    "oci": _oci,
    "s3": _bucket("s3"),
    "gs": _bucket("gs"),
    "https": _https,
}
SCHEMES: Final = tuple(_READERS)
_ALL: Final = ", ".join(f"{scheme}://" for scheme in SCHEMES)


# --- the cache ------------------------------------------------------------------------------------------

_CACHES: Final = "must be pvc://CLAIM/PATH, a size such as 500Gi, download, or download,SIZE"


def read_cache(text: str) -> ModelCache | str:
    """Read the value of `model-cache`; return a message if it is invalid."""
    if not text:
        return NO_CACHE
    if text.startswith("pvc://"):
        found = _pvc(text, text.removeprefix("pvc://"))
        return found if isinstance(found, str) else ModelCache(found.claim, found.path)
    words = [word.strip() for word in text.split(",")]
    sizes = [word for word in words if word != DOWNLOAD]
    if len(words) > 2 or len(sizes) > 1 or len(words) - len(sizes) > 1:
        return _CACHES
    if sizes and not ((amount := parse(sizes[0])) and amount > 0):
        return f"{_CACHES}: {sizes[0][:80] or 'nothing'} is no size"
    return ModelCache(size="".join(sizes), download=DOWNLOAD in words)


def uri_fault(text: str) -> str:
    """Return what is wrong with a model URI; empty if nothing is."""
    found = read_uri(text)
    return found if isinstance(found, str) else ""


def cache_fault(text: str) -> str:
    """Return what is wrong with the value of `model-cache`; empty if nothing is."""
    if not text:
        return _CACHES
    found = read_cache(text)
    return found if isinstance(found, str) else ""
