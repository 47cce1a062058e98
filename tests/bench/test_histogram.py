"""The API server's own histogram is read as calls between two readings."""

import math

import pytest

from tests.bench.histogram import METRIC, Calls, between, read, together

PAGE = f"""\
# HELP {METRIC} [STABLE] Admission webhook latency histogram in seconds.
# TYPE {METRIC} histogram
{METRIC}_bucket{{name="m",operation="CREATE",rejected="false",type="admit",le="0.005"}} 90
{METRIC}_bucket{{name="m",operation="CREATE",rejected="false",type="admit",le="0.025"}} 99
{METRIC}_bucket{{name="m",operation="CREATE",rejected="false",type="admit",le="+Inf"}} 100
{METRIC}_sum{{name="m",operation="CREATE",rejected="false",type="admit"}} 0.5
{METRIC}_count{{name="m",operation="CREATE",rejected="false",type="admit"}} 100
{METRIC}_sum{{name="m",operation="UPDATE",rejected="false",type="admit"}} 7
{METRIC}_count{{name="m",operation="UPDATE",rejected="false",type="admit"}} 7
apiserver_request_total{{code="200"}} 4
"""
CREATES = read(PAGE, "CREATE")["m"]


def test_calls_are_read_by_their_operation() -> None:
    assert (CREATES.count, CREATES.seconds, CREATES.mean) == (100, 0.5, 0.005)


@pytest.mark.parametrize(("part", "bound"), [(0.9, 0.005), (0.99, 0.025), (0.999, math.inf)])
def test_a_quantile_is_the_bound_of_the_bucket_that_reaches_it(part: float, bound: float) -> None:
    assert CREATES.quantile(part) == bound


def test_earlier_counts_are_subtracted() -> None:
    before = {"m": Calls(40, 0.2, {0.005: 40, 0.025: 40, math.inf: 40})}

    assert between(before, {"m": CREATES})["m"] == Calls(60, 0.3, {0.005: 50, 0.025: 59, math.inf: 60})


def test_a_webhook_that_was_never_called_before_starts_at_nothing() -> None:
    assert between({}, {"m": CREATES}) == {"m": CREATES}


def test_calls_are_added_up() -> None:
    assert together([CREATES, CREATES]).within == {0.005: 180, 0.025: 198, math.inf: 200}
