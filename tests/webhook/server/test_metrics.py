"""What the metrics of the webhook say of one answer."""

from webhook.server.metrics import build


def test_an_answer_is_counted_once_with_its_seconds() -> None:
    metrics = build(["/mutate", "/validate"], [], [], "0.1.0")

    metrics.counts["/mutate"]("denied", 0.5)

    value = metrics.registry.get_sample_value
    told = {"path": "/mutate"}
    assert value("fusioninfer_admission_requests_total", {**told, "outcome": "denied"}) == 1
    assert value("fusioninfer_admission_duration_seconds_count", told) == 1
    assert value("fusioninfer_admission_duration_seconds_sum", told) == 0.5
