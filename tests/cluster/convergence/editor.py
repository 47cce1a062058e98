"""An editor for `kubectl edit`: it writes spec, labels and annotations of another file into the file."""

import sys
from pathlib import Path

import yaml


def main(wanted: Path, file: Path) -> None:
    """Edit a file."""
    lws, other = (yaml.load(each.read_text(), yaml.CSafeLoader) for each in (file, wanted))
    lws["spec"] = other["spec"]
    for field in ("labels", "annotations"):
        lws["metadata"].pop(field, None)
        if field in other["metadata"]:
            lws["metadata"][field] = other["metadata"][field]
    file.write_text(yaml.dump(lws, Dumper=yaml.CSafeDumper))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
