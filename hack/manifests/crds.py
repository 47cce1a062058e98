"""The CustomResourceDefinitions, from the models of our kinds."""

from collections.abc import Mapping
from typing import Final

from intent import yaml
from intent.inferenceservice import crd as inferenceservice
from intent.inferencetemplate import crd as inferencetemplate

DEFINED: Final = {"inferenceservice": inferenceservice.crd, "inferencetemplate": inferencetemplate.crd}


def texts() -> Mapping[str, str]:
    """Return the manifest of each definition."""
    return {
        f"manifests/base/{name}.crd.yaml": f"# made from intent/{name} by `make generate`\n{yaml.dump(crd())}"
        for name, crd in DEFINED.items()
    }
