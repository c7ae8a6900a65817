"""Measurement: minima over processes, and the CPU time of other processes."""

from __future__ import annotations

import pytest

from benchmarks import __main__ as bench
from benchmarks.calls import Call
from benchmarks.context import Rate, Timing
from benchmarks.kernels import min_times
from benchmarks.machine import Usage, describe

CALL = Call("relu_f32_buffer/4", "unary", "aten.relu", "relu_f32_buffer", 0, 32)


def test_the_minimum_is_taken_per_clock() -> None:
    rounds = [{CALL.id: Timing(3, 5)}, {CALL.id: Timing(2, 7)}, {CALL.id: Timing(4, 6)}]
    assert [each.time for each in min_times(rounds, [CALL])] == [Timing(2, 5)]


def test_rates_are_work_per_second() -> None:
    rate = Timing(wall=4, cpu=5).rate(20, cores=2)
    assert rate == Rate(wall=5, cpu=8)
    assert rate.of(Rate(wall=10, cpu=32)) == Rate(wall=0.5, cpu=0.25)


def test_other_processes_use_the_rest() -> None:
    before = Usage(wall=100, busy=50, own=10)
    assert before.others_until(Usage(wall=110, busy=65, own=15), processors=2) == 0.5
    assert before.others_until(Usage(wall=110, busy=55, own=15), processors=2) == 0
    assert before.others_until(before, processors=2) == 0


def test_own_cpu_time_is_counted() -> None:
    start = Usage.now()
    sum(range(3_000_000))
    later = Usage.now()
    assert later.wall > start.wall
    assert later.own > start.own


def test_a_busy_machine_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "others_now", lambda: 0.05)
    bench.refuse_busy_machine()
    monkeypatch.setattr(bench, "others_now", lambda: 0.3)
    with pytest.raises(SystemExit, match="other processes use 30 % of the CPU"):
        bench.refuse_busy_machine()


def test_the_machine_is_described() -> None:
    found = describe("g++", "no-such-package")
    assert {"cpu", "cores", "load average", "system", "kernel", "date"} <= set(found)
    assert found["no-such-package"] == "unknown"
