"""The value of the annotation `lora`: adapters and limits, and what is wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.lora import LIMITS, LONGEST_NAME, MOST, label_of, lora_fault, read_lora, written

SQL = "sql=hf://org/sql"


def test_adapters_and_limits_are_items_of_one_list() -> None:
    found = read_lora(f"{SQL}, acme/law=pvc://claim/a/b ,maxRank=64,maxAdapters=2,maxCpuAdapters=8")

    assert [(one.name, one.uri.scheme, one.mount) for one in found.adapters] == [
        ("sql", "hf", "/mnt/lora/sql"),
        ("acme/law", "pvc", "/mnt/lora/acme-law"),
    ]
    assert (found.max_rank, found.max_adapters, found.max_cpu_adapters, found.faults) == (64, 2, 8, ())


@pytest.mark.parametrize(
    ("uri", "argument", "downloaded"),
    [
        ("hf://org/a", "org/a", False),
        ("hf://org/a:v1", "/mnt/lora/x", True),
        ("s3://bucket/a", "/mnt/lora/x", True),
        ("gs://bucket/a", "/mnt/lora/x", True),
        ("https://host/a.tgz", "/mnt/lora/x", True),
        ("pvc://claim/a", "/mnt/lora/x", False),
        ("oci://registry/a:v1", "/mnt/lora/x/models", False),
        ("oci://registry/a:v1#lora/x", "/mnt/lora/x/lora/x", False),
    ],
)
def test_an_engine_downloads_from_hugging_face_and_reads_files_otherwise(
    uri: str, argument: str, *, downloaded: bool
) -> None:
    (one,) = read_lora(f"x={uri}").adapters

    assert (one.argument(by_engine=True), one.is_downloaded(by_engine=True)) == (argument, downloaded)


def test_an_engine_whose_model_is_files_downloads_no_adapter() -> None:
    (one,) = read_lora(SQL).adapters

    assert (one.argument(by_engine=False), one.is_downloaded(by_engine=False)) == ("/mnt/lora/sql", True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must have adapters, as in sql=hf://org/sql-adapter"),
        ("maxRank=8", "must have at least one adapter"),
        ("sql", "sql must be NAME=URI"),
        (f"{SQL},", "an empty item must be NAME=URI"),
        ("sql=org/sql", "sql: the value must be a URI: for a model of Hugging Face write hf://org/sql"),
        ("sql=pvc+hf://claim/org/sql", "the URI must not be pvc+hf://: use hf://, s3://"),
        ("=hf://org/sql", "an adapter without a name: a name must be at most"),
        ("-a=hf://org/sql", "a letter or a digit at both ends"),
        ("a b=hf://org/sql", "letters, digits"),
        (f"{'a' * (LONGEST_NAME + 1)}=hf://org/sql", f"at most {LONGEST_NAME}"),
        (f"{SQL},{SQL}", "sql and sql have the same directory, sql: rename one of them"),
        (f"{SQL},SQL=hf://org/b", "SQL and sql have the same directory, sql: rename one of them"),
        (f"{SQL},maxRank=0", "maxRank must be a whole number from 1 to 9999, not 0"),
        (f"{SQL},maxRank=8,maxRank=8", "maxRank must be there once"),
        (f"{SQL},maxRnk=8", "maxRnk: the value must be a URI that begins with one of hf://"),
        ("maxRank=hf://org/a", "maxRank must be a whole number from 1 to 9999, not hf://org/a"),
        (f"{SQL},maxAdapters=4,maxCpuAdapters=2", "maxCpuAdapters must be at least 4"),
        (",".join(f"a{at}=hf://org/a" for at in range(MOST + 1)), f"must be at most {MOST} adapters"),
        (f"x=s3://{'b' * 16_384}", "in 16384 characters"),
    ],
)
def test_a_fault_names_the_item_and_what_is_right(text: str, says: str) -> None:
    assert says in lora_fault(text)


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    found = read_lora(text)

    assert bool(found.adapters or found.faults) == bool(text)


@given(st.text(alphabet="aB-_./=,:1 ", max_size=60))
def test_valid_adapters_have_directories_of_their_own_that_are_dns_labels(text: str) -> None:
    labels = [one.label for one in read_lora(",".join(f"{one}=hf://o/a" for one in text.split(","))).adapters]

    assert len(set(labels)) == len(labels)
    assert all(label and label == label_of(label) and len(label) <= LONGEST_NAME for label in labels)


def test_what_is_written_is_read_again() -> None:
    limits = dict.fromkeys(LIMITS, 8)
    found = read_lora(written([("sql", "hf://org/sql"), ("a/b", "s3://bucket/x")], limits))

    assert ([(one.name, one.uri.text) for one in found.adapters], found.max_rank, found.faults) == (
        [("sql", "hf://org/sql"), ("a/b", "s3://bucket/x")],
        8,
        (),
    )
