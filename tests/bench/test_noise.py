"""The noise of a machine is the spread of one piece of work that is always the same."""

from tests.bench.noise import Noise, calibrate, summary


def test_work_that_always_costs_the_same_has_no_spread() -> None:
    assert summary(Noise(cpu=[0.002] * 9, wall=[0.002] * 9))["cpu_spread"] == 0.0


def test_one_outlier_in_ten_is_no_spread() -> None:
    assert summary(Noise(cpu=[0.002] * 20 + [9.0], wall=[0.002] * 21))["cpu_spread"] == 0.0


def test_work_that_costs_now_more_now_less_has_one() -> None:
    assert summary(Noise(cpu=[0.001, 0.002, 0.003] * 9, wall=[0.002] * 27))["cpu_spread"] == 1.0


def test_a_calibration_is_one_piece_of_work() -> None:
    noise = Noise()

    calibrate(noise)

    assert (len(noise.cpu), len(noise.wall), noise.cpu[0] > 0) == (1, 1, True)
