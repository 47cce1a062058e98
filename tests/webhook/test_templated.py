"""A request that names templates is answered in steps of bytes as if it were answered at once."""

from base64 import b64decode
from typing import Any, Final

import orjson
import pytest

from intent.template import Templates, Unavailable
from tests.builders.reviews import review as review_of
from tests.webhook.test_templates import BASE, named
from webhook import review
from webhook.templated import answered, asked, may_ask, packed, read_asked

BODY: Final = orjson.dumps(review_of(named()))


def test_the_first_step_returns_the_templates_to_read() -> None:
    assert may_ask(BODY)
    assert read_asked(asked(BODY).body) == review.wanted(BODY) == ("llm", ("base",))


@pytest.mark.parametrize("found", [BASE, Unavailable("does not exist in namespace llm")])
def test_the_second_step_answers_with_what_was_read(found: Any) -> None:
    templates: Templates = {"base": found}

    answer = answered(packed(BODY, templates))

    assert answer == review.mutate(BODY, templates=templates)
    assert answer != review.mutate(BODY)


def test_a_template_that_is_nested_too_deep_to_be_written_has_a_reason() -> None:
    deep = orjson.loads(b'{"a":' * 300 + b"1" + b"}" * 300)

    assert b"levels" in b64decode(
        orjson.loads(answered(packed(BODY, {"base": deep})).body)["response"]["patch"]
    )
