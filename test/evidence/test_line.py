"""What a line does with messages."""

import pytest

from evidence.faults.line import Line

PERIOD = 0.002  # s
COUNT = 2000


def carried(**settings):
    """The numbers that arrive of those that are sent, one a period, with the times
    of their arrival [s].
    """
    line = Line()
    for name, value in settings.items():
        setattr(line, name, value)
    arrived = []
    for k in range(COUNT + 100):
        if k < COUNT:
            line.send(k * PERIOD, k)
        arrived += [(k * PERIOD, number) for number in line.arrived(k * PERIOD)]
    return line, arrived


def test_a_perfect_line_carries_each_message_at_once():
    line, arrived = carried()
    assert line.perfect
    assert arrived == [(k * PERIOD, k) for k in range(COUNT)]


@pytest.mark.parametrize("loss", [0.01, 0.1, 0.5])
def test_the_share_that_is_lost_is_the_one_that_was_chosen(loss):
    line, arrived = carried(loss=loss)
    assert not line.perfect
    assert line.lost + len(arrived) == COUNT
    assert line.lost == pytest.approx(loss * COUNT, abs=4.0 * (loss * COUNT) ** 0.5)
    assert [number for _, number in arrived] == sorted(number for _, number in arrived)


def test_late_messages_come_in_order_after_the_delay():
    _, arrived = carried(delay=0.02)
    assert [number for _, number in arrived] == list(range(COUNT))
    assert [time - number * PERIOD for time, number in arrived] == pytest.approx([0.02] * COUNT)


def test_jitter_lets_messages_overtake_each_other_and_loses_none():
    _, arrived = carried(jitter=0.006)
    numbers = [number for _, number in arrived]
    assert sorted(numbers) == list(range(COUNT))
    assert numbers != sorted(numbers)


def test_copies_come_beside_each_message():
    _, arrived = carried(copies=1)
    assert [number for _, number in arrived] == [k for k in range(COUNT) for _ in range(2)]


def test_a_change_that_gives_nothing_loses_the_message():
    line, arrived = carried(change=lambda number: None if number % 2 else -number)
    assert line.lost == COUNT // 2
    assert {number for _, number in arrived} == {-k for k in range(0, COUNT, 2)}


def test_a_mended_line_is_perfect_when_all_have_arrived():
    line = Line()
    line.delay = 0.02
    line.send(0.0, "late")
    line.mend()
    assert not line.perfect
    assert line.arrived(0.02) == ["late"]
    assert line.perfect
