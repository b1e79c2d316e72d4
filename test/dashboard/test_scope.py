"""The scope: where its trigger is, which cycles it reads, and what the panel shows of them."""

from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import ROBOT, text, until, viser

from robot_control_ros.control.requests import CycleAnswer
from robot_control_ros.core.cycle import CYCLE
from robot_control_ros.core.record import Field
from robot_control_ros.dashboard.scope.cycle_fields import ALL_JOINTS, FIELDS, LINEAR, components
from robot_control_ros.dashboard.scope.scope import TIME, Scope, ScopeSettings
from robot_control_ros.dashboard.scope.trigger import AT_FAULT, Trigger, crossings, newest_number

NAN = np.nan
RISES = Trigger("spring_load", 0, 0.5, rising=True)
PERIOD = 0.001  # s
KEPT = 1000  # cycles that the test's controller keeps


# --- the trigger ---


@pytest.mark.parametrize(
    ("values", "level", "rising", "places"),
    [
        ([0, 1, 2, 3], 1.5, True, [2]),
        ([0, 1, 2, 3], 2.0, True, [2]),  # the level itself counts
        ([3, 2, 1, 0], 1.5, False, [2]),
        ([3, 2, 1, 0], 1.0, False, [2]),
        ([0, 2, 0, 2, 2, 0, 2], 1.0, True, [1, 3, 6]),
        ([0, 2, 0, 2, 2, 0, 2], 1.0, False, [2, 5]),
        ([2, 2, 2], 1.0, True, []),  # it was there before the first
        ([1, 1, 1], 1.0, True, []),
        ([0, 0, 0], 1.0, True, []),
        ([-3, -1], -2.0, True, [1]),
        ([0, np.inf, 0], 1.0, True, [1]),
        ([], 1.0, True, []),
        ([5], 1.0, True, []),
    ],
)
def test_a_crossing_is_where_a_quantity_comes_to_the_level(values, level, rising, places):
    assert crossings(np.array(values, dtype=float), level, rising) == places


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([NAN, 2, 2], []),  # nobody knows what was before
        ([0, NAN, NAN, 2], [3]),
        ([0, NAN, 0, 2, NAN, 2], [3]),
        ([NAN, NAN], []),
        ([NAN, 0, NAN, 2, NAN], [3]),
    ],
)
def test_values_that_are_missing_are_passed_over(values, places):
    assert crossings(np.array(values, dtype=float), 1.0, True) == places


@pytest.mark.parametrize(("previous", "places"), [(0.0, [0]), (1.0, []), (2.0, []), (NAN, [])])
def test_the_first_value_crosses_where_the_one_before_was_on_the_other_side(previous, places):
    assert crossings(np.array([2.0, 3.0]), 1.0, True, previous) == places
    assert crossings(np.array([NAN, 3.0]), 1.0, True, previous) == [1 + place for place in places]


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_parts_have_the_crossings_of_the_whole(rng, rising, size):
    values = np.where(rng.random(200) < 0.3, NAN, rng.standard_normal(200))
    previous, found = NAN, []
    for begin in range(0, 200, size):
        part = values[begin : begin + size]
        found += [begin + place for place in crossings(part, 0.2, rising, previous)]
        previous = newest_number(part, previous)
    assert found == crossings(values, 0.2, rising)
    assert found


# --- which cycles are read ---


class Ring:
    """A controller that keeps its last cycles and answers so many at once."""

    def __init__(self, most=50):
        self.loads, self.most = [], most
        self.times = lambda numbers: PERIOD * numbers
        self.asked = []

    def come(self, *loads):
        self.loads += loads

    def answer(self, query):
        self.asked.append(query)
        end = len(self.loads)
        first = end + query.first if query.first < 0 else query.first
        first = min(max(first, end - KEPT, 0), end)
        numbers = np.arange(first, min(first + self.most, end))
        values = {
            "spring_load": np.array(self.loads)[numbers].reshape(-1, 1)
            if len(numbers)
            else np.zeros((0, 1))
        }
        values[TIME] = self.times(numbers[:, None])
        values["q"] = numbers[:, None] + 0.1 * np.arange(6)
        values["fault"] = 1.0 * (values["spring_load"] > 0.9)
        return CycleAnswer("", first, end, {name: values[name] for name in query.fields})

    def feed(self, scope, times=1000):
        """Answer what a scope asks, until nothing new comes."""
        for _ in range(times):
            query = scope.query()
            if query is None:
                return
            scope.take(query, self.answer(query))


def scope_of(trigger=RISES, before=10, after=20, holds=False, fields=("q",), period=PERIOD):
    """A scope that shows so many cycles of PERIOD before and after the trigger."""
    return Scope(ScopeSettings(fields, trigger, before * PERIOD, after * PERIOD, period, holds))


def numbers_of(trace):
    """The numbers of the cycles, by the values of each."""
    np.testing.assert_allclose(trace.t, 0.001 * trace.values["q"][:, 0])
    return trace.values["q"][:, 0].astype(int).tolist()


def test_a_trace_has_each_cycle_around_its_trigger():
    ring = Ring()
    scope = scope_of()
    ring.come(*[0.0] * 100, *[1.0] * 100)
    ring.feed(scope, 20)
    assert numbers_of(scope.trace) == list(range(90, 120))
    assert scope.trace.zero == pytest.approx(0.1)
    assert scope.complete


def test_a_trigger_that_was_there_before_the_scope_is_found_and_only_it_is_read_of_the_past():
    ring = Ring()
    scope = scope_of(AT_FAULT, fields=("q", "spring_load"))
    ring.come(*[0.0] * 300, *[1.0] * 5, *[0.0] * 695)
    ring.feed(scope, 40)
    assert numbers_of(scope.trace) == list(range(290, 320))
    fields = {query.fields for query in ring.asked if query.first < 290}
    assert fields == {(TIME, "fault")}


def test_a_trace_is_shown_as_it_comes_and_waits_for_its_last_cycles():
    ring = Ring()
    scope = scope_of()
    ring.come(*[0.0] * 100, *[1.0] * 5)
    ring.feed(scope, 20)
    assert numbers_of(scope.trace) == list(range(90, 105))
    assert not scope.complete
    ring.come(*[1.0] * 15)
    ring.feed(scope, 20)
    assert numbers_of(scope.trace) == list(range(90, 120))
    assert not scope.complete
    ring.come(1.0)  # a later one
    ring.feed(scope, 20)
    assert numbers_of(scope.trace) == list(range(90, 120))
    assert scope.complete


def test_a_trace_at_the_oldest_cycles_begins_with_them():
    ring = Ring()
    scope = scope_of()
    ring.come(*[0.0] * 4, *[1.0] * 100)
    ring.feed(scope, 20)
    assert numbers_of(scope.trace) == list(range(0, 24))


def test_a_trace_whose_beginning_is_no_longer_kept_begins_later():
    ring = Ring()
    scope = scope_of(before=100)
    ring.come(*[0.0] * 530, *[1.0] * 970)
    ring.feed(scope, 60)
    assert numbers_of(scope.trace) == list(range(500, 550))


@pytest.mark.parametrize("holds", [False, True])
def test_what_was_overwritten_before_it_could_be_read_leaves_no_trace_and_the_search_goes_on(holds):
    ring = Ring()
    scope = scope_of(holds=holds)
    ring.come(*[0.0] * 100, *[1.0] * 5)
    ring.feed(scope, 3)  # the trigger is found
    ring.come(*[0.0] * 5000)
    ring.feed(scope, 60)
    assert scope.trace is None
    assert not scope.complete
    ring.come(*[1.0] * 50)
    ring.feed(scope, 60)
    assert numbers_of(scope.trace) == list(range(5095, 5125))


def test_a_value_that_was_overwritten_is_no_neighbour_of_the_next():
    ring = Ring()
    scope = scope_of()
    ring.come(*[0.0] * 100)
    ring.feed(scope, 10)
    ring.come(*[1.0] * 5000)  # the step to 1 is no longer kept
    ring.feed(scope, 200)
    assert scope.trace is None


def test_the_newest_trigger_is_shown_again_and_again():
    ring = Ring()
    scope = scope_of(after=5)
    for begin in (0, 100, 200):
        ring.come(*[0.0] * 50, *[1.0] * 50)
        ring.feed(scope, 30)
        assert scope.trace.zero == pytest.approx(0.001 * (begin + 50))
    ring.come(*([0.0] * 50 + [1.0] * 50) * 4)  # while nobody looked
    ring.feed(scope, 40)
    assert scope.trace.zero == pytest.approx(0.65)


def test_a_trigger_within_a_trace_starts_no_other():
    ring = Ring()
    scope = scope_of(after=20, holds=True)
    ring.come(*[0.0] * 100, *[1.0, 0.0] * 50, *[0.0] * 100)
    zeros = []
    for _ in range(5):
        ring.feed(scope, 20)
        zeros.append(round(1000 * scope.trace.zero))
        scope.go_on()
    assert zeros == [100, 122, 144, 166, 188]


def test_a_held_trace_stays_and_nothing_is_read():
    ring = Ring()
    scope = scope_of(holds=True)
    ring.come(*[0.0] * 100, *[1.0] * 100, *[0.0] * 100, *[1.0] * 100)
    ring.feed(scope, 50)
    assert scope.holds
    assert scope.query() is None
    assert scope.trace.zero == pytest.approx(0.1)  # the first, not the newest
    trace = scope.trace
    scope.go_on()
    assert scope.trace is trace  # until there is another
    ring.feed(scope, 50)
    assert scope.trace.zero == pytest.approx(0.3)


def test_without_a_trigger_the_newest_cycles_are_shown_and_each_is_read_once():
    ring = Ring()
    scope = scope_of(trigger=None)
    ring.come(*[0.0] * 500)
    ring.feed(scope, 3)
    assert numbers_of(scope.trace) == list(range(470, 500))
    ring.come(*[0.0] * 7)
    ring.feed(scope, 2)
    assert numbers_of(scope.trace) == list(range(476, 507))
    assert scope.trace.zero == pytest.approx(0.506)
    assert [query.first for query in ring.asked] == [-30, 500, 500, 500, 507]


def test_a_scope_that_was_late_goes_on_with_the_newest_cycles():
    ring = Ring(most=10)
    scope = scope_of(trigger=None)
    ring.come(*[0.0] * 100)
    ring.feed(scope, 10)
    ring.come(*[0.0] * 600)
    ring.feed(scope, 10)
    assert numbers_of(scope.trace) == list(range(670, 700))


@pytest.mark.parametrize("nominal", [PERIOD / 4.0, 4.0 * PERIOD])
@pytest.mark.parametrize("trigger", [None, RISES])
def test_times_are_kept_where_the_cycles_come_at_another_rate_than_the_usual_one(nominal, trigger):
    ring = Ring()
    scope = scope_of(trigger, period=nominal)
    ring.come(*[0.0] * 400, *[1.0] * 300)
    ring.feed(scope, 100)
    ring.come(*[1.0] * 30)
    ring.feed(scope, 100)
    assert numbers_of(scope.trace) == list(range(390, 420) if trigger else range(699, 730))


@pytest.mark.parametrize("trigger", [None, RISES])
def test_a_clock_that_is_set_back_begins_another_trace(trigger):
    ring = Ring()
    scope = scope_of(trigger, after=20)
    ring.times = lambda numbers: PERIOD * (numbers % 110)
    ring.come(*[0.0] * 100, *[1.0] * 20)
    ring.feed(scope, 20)
    assert scope.trace.t.tolist() == sorted(scope.trace.t)
    found = scope.trace.values["q"][:, 0].astype(int).tolist()
    assert found == (list(range(90, 110)) if trigger else list(range(110, 120)))


def test_another_controller_is_searched_from_its_beginning():
    ring = Ring()
    scope = scope_of()
    ring.come(*[0.0] * 900)
    ring.feed(scope, 50)
    ring.loads = [0.0] * 40 + [1.0] * 40
    ring.feed(scope, 20)
    assert numbers_of(scope.trace) == list(range(30, 60))


@pytest.mark.parametrize("trigger", [None, RISES])
def test_a_controller_without_cycles_has_no_trace(trigger):
    ring = Ring()
    scope = scope_of(trigger)
    ring.feed(scope, 5)
    assert scope.trace is None
    assert not scope.complete


# --- names ---


def test_every_kept_field_has_names_for_all_its_numbers():
    joints = [f"joint {i}" for i in range(6)]
    for field in CYCLE.kept:
        parts = components(field, joints)
        places = {each.place for part in parts.values() for each in part}
        size = int(np.prod(field.sizes(6)))
        assert places <= set(range(size)), field.name
        # whose last row is 0 0 0 1
        assert places == set(range(size)) or field.shape == (4, 4), field.name
        for part in parts.values():
            assert len({each.unit for each in part}) == 1, field.name
            assert len({each.name for each in part}) == len(part), field.name


def test_units_and_names_are_those_of_the_declaration():
    joints = list(ROBOT.joints)
    assert [each.unit for each in components(FIELDS["wrench"], joints)["rz"]] == ["N·m"]
    assert [each.place for each in components(FIELDS["pose"], joints)[LINEAR]] == [3, 7, 11]
    assert {each.unit for each in components(FIELDS["sent"], joints, "rad/s")[ALL_JOINTS]} == {
        "rad/s"
    }
    assert [each.name for each in components(FIELDS["q"], joints)[ALL_JOINTS]] == joints
    (softening,) = components(FIELDS["softening"], joints).values()
    assert [each.place for each in softening] == [0]


def test_a_field_of_another_shape_is_named_by_its_places():
    parts = components(Field("other", (2, "n"), "s", "For a test."), ["a", "b"])
    assert list(parts) == ["0, 0", "0, 1", "1, 0", "1, 1"]
    assert [parts["1, 0"][0].place, parts["1, 0"][0].unit] == [2, "s"]


# --- the panel ---


RATE = round(1.0 / ROBOT.period)
FIELD, SHOWN, TRIGGER, LEVEL = "Field 1", "Of field 1", "Trigger", "Level"


def come(link, count, **values):
    for _ in range(count):
        link.come_cycle(**values)


def open_scope(browser, page, **controls):
    browser.set("Scope", True)
    until(lambda: page.scope.panel.visible, "the panel")
    for label, value in controls.items():
        browser.set(label, value)


def drawn(page):
    """What is shown of a trace: its times and values, by field."""
    found = page.scope.drawn
    return (
        {} if found is None else {each.name: found.trace.values[each.name] for each in found.fields}
    )


def charts(page):
    return () if page.scope.drawn is None else page.scope.drawn.charts


def times(page):
    return page.scope.drawn.charts[0].x


def test_a_closed_scope_reads_nothing(browser, page, link, web):
    come(link, 10)
    web.wait(2.0)
    assert not link.cycle_queries
    open_scope(browser, page)
    until(lambda: link.cycle_queries, "a query")
    browser.set("Scope", False)
    until(lambda: not page.scope.panel.visible, "the panel to close")
    web.wait(1.0)
    link.cycle_queries.clear()
    web.wait(2.0)
    assert not link.cycle_queries
    assert not page.scope.plots


def test_without_a_trigger_each_of_the_newest_cycles_is_shown(browser, page, link):
    for number in range(700):
        link.come_cycle(sent=number)
    open_scope(browser, page)
    until(lambda: drawn(page) and drawn(page)["sent"][-1, 0] == 699, "the newest cycle")
    np.testing.assert_array_equal(drawn(page)["sent"][:, 0], np.arange(700 - RATE, 700))
    np.testing.assert_allclose(times(page), ROBOT.period * np.arange(1 - RATE, 1), atol=2e-6)
    link.come_cycle(sent=700)
    until(lambda: drawn(page)["sent"][-1, 0] == 700, "one more")


def test_a_fault_of_the_last_minute_is_shown_with_the_cycles_around_it(browser, page, link):
    come(link, 1000, softening=1.0)
    come(link, 10, fault=1.0, softening=0.5)
    come(link, 1000, softening=1.0)
    open_scope(browser, page)
    browser.set(FIELD, "softening")
    browser.set(TRIGGER, "a fault")
    browser.set("Before [s]", 0.1)
    browser.set("After [s]", 0.2)
    until(lambda: page.scope.scope.settings.after == 0.2, "the choices")
    until(lambda: page.scope.scope.complete, "the trace")
    until(
        lambda: page.scope.drawn and page.scope.drawn.trace is page.scope.scope.trace, "the picture"
    )
    np.testing.assert_allclose(
        (times(page)[0], times(page)[-1]), (-0.1, 0.2 - ROBOT.period), atol=2e-6
    )
    (chart,) = page.scope.drawn.charts
    np.testing.assert_array_equal(chart.curves[0].values[times(page) < -1e-5], 1.0)
    assert chart.curves[0].values[np.argmin(abs(times(page)))] == 0.5


def test_a_level_of_one_component_is_a_trigger(browser, page, link):
    wrench = np.zeros(6)
    come(link, 300, wrench=np.nan)
    come(link, 300, wrench=wrench)
    come(link, 300, wrench=wrench + [0.0, 0.0, 12.0, 0.0, 0.0, 0.0])
    open_scope(browser, page)
    browser.set(FIELD, "wrench")
    browser.set(TRIGGER, "a field rises to")
    until(lambda: browser.handle("Of trigger field").visible, "the choice of a component")
    until(lambda: "z" in browser.handle("Of trigger field").options, "the axes")
    browser.set("Of trigger field", "z")
    browser.set(LEVEL, 10.0)
    until(
        lambda: page.scope.scope.settings.trigger == Trigger("wrench", 2, 10.0, True), "the trigger"
    )
    until(lambda: page.scope.scope.complete, "the trace")
    until(lambda: drawn(page), "the picture")
    assert page.scope.drawn.trace.zero == pytest.approx(600 * ROBOT.period)
    level = page.scope.drawn.charts[0].curves[-1]
    assert set(level.values) == {10.0}


def test_a_held_trace_stays_until_the_next_is_wanted(browser, page, link):
    for _ in range(2):
        come(link, 400)
        come(link, 400, fault=1.0)
    open_scope(browser, page)
    browser.set("Before [s]", 0.1)
    browser.set("After [s]", 0.1)
    browser.set("Hold each trace", True)
    browser.set(TRIGGER, "a fault")
    until(lambda: browser.handle("Next trace").visible, "a trace that is held")
    assert page.scope.scope.trace.zero == pytest.approx(400 * ROBOT.period)
    browser.set("Next trace", True)
    until(lambda: page.scope.scope.trace.zero > 500 * ROBOT.period, "the other one")
    assert page.scope.scope.trace.zero == pytest.approx(1200 * ROBOT.period)


def test_several_fields_have_a_chart_each_and_one_that_is_shown_twice_is_read_once(
    browser, page, link
):
    come(link, 50, q=1.0)
    open_scope(browser, page)
    browser.set("Field 2", "q")
    until(lambda: browser.handle("Field 3").visible, "room for a third field")
    browser.set("Field 3", "q")
    until(lambda: "elbow" in browser.handle("Of field 3").options, "its joints")
    browser.set("Of field 3", "elbow")
    until(lambda: [len(chart.curves) for chart in charts(page)] == [6, 6, 1], "three charts")
    assert len(page.scope.plots) == 3
    assert (TIME, "sent", "q") in {fields for _, fields in link.cycle_queries}
    browser.set("Field 2", "–")
    until(lambda: len(page.scope.plots) == 1, "the first alone")
    assert not browser.handle("Field 3").visible


def test_the_unit_of_commands_is_that_of_the_law(browser, page, link):
    come(link, 50)
    open_scope(browser, page)
    until(lambda: page.scope.drawn and "[N·m]" in page.scope.drawn.charts[0].label, "torques")
    link.gains = link.gains | {"output": replace(link.gains["output"], value="position")}
    link.come_cycle()
    until(lambda: "[rad]" in page.scope.drawn.charts[0].label, "positions")


def test_a_choice_of_what_is_shown_reads_nothing_anew(browser, page, link, web):
    come(link, 400)
    come(link, 400, fault=1.0)
    open_scope(browser, page)
    browser.set("Hold each trace", True)
    browser.set(TRIGGER, "a fault")
    until(lambda: page.scope.scope.holds and page.scope.drawn, "a held trace")
    trace, queries = page.scope.scope.trace, len(link.cycle_queries)
    browser.set(SHOWN, "elbow")
    until(lambda: [len(chart.curves) for chart in charts(page)] == [1], "the elbow alone")
    web.wait(1.0)
    assert page.scope.scope.trace is trace
    assert len(link.cycle_queries) == queries


def test_a_trigger_that_never_came_leaves_no_picture_of_another(browser, page, link):
    come(link, 400)
    open_scope(browser, page)
    until(lambda: page.scope.plots, "the newest cycles")
    browser.set(TRIGGER, "a fault")
    until(lambda: not page.scope.plots, "an empty panel")
    until(lambda: "Waiting for the trigger" in text(page), "the words")


def test_a_field_without_values_says_so(browser, page, link):
    come(link, 50, wrench=np.nan)
    open_scope(browser, page)
    browser.set(FIELD, "wrench")
    until(lambda: "wrench" in drawn(page), "the chart")
    assert page.scope.drawn.charts[0].label.endswith(": none")


def test_a_refusal_is_told_and_what_comes_later_is_shown(browser, page, link):
    link.cycle_refusal = "its law runs in the process of the bus"
    open_scope(browser, page)
    until(lambda: link.cycle_refusal in text(page), "the refusal")
    refusal, link.cycle_refusal = link.cycle_refusal, ""
    come(link, 50)
    until(lambda: drawn(page), "the cycles")
    assert refusal not in text(page)


def test_one_query_waits_at_a_time_and_the_answer_to_an_old_choice_counts_no_more(
    browser, page, link, web
):
    come(link, 2000, fault=0.0)
    answers = []
    read = link.read_cycles
    link.read_cycles = lambda *query: answers.append(query)
    open_scope(browser, page)
    until(lambda: answers, "a query")
    browser.set(FIELD, "q")
    web.wait(1.0)
    assert len(answers) == 1
    link.read_cycles = read
    read(*answers[0])
    until(lambda: "q" in drawn(page), "the new choice")
    assert set(page.scope.scope.trace.values) == {TIME, "q"}


@pytest.mark.parametrize(
    ("kind", "begin"), [("CSV", b"time [s],sent.shoulder pan [N"), ("PNG", b"\x89PNG")]
)
def test_the_trace_is_exported(browser, page, link, monkeypatch, kind, begin):
    if kind == "PNG":
        pytest.importorskip("matplotlib")
    given = []
    monkeypatch.setattr(
        viser.ClientHandle,
        "send_file_download",
        lambda client, name, content, **how: given.append((name, content)),
    )
    come(link, 200)
    open_scope(browser, page)
    until(lambda: page.scope.drawn and len(times(page)) == 200, "the cycles")
    until(lambda: "[N·m]" in page.scope.drawn.charts[0].label, "the unit")
    browser.set("Export trace", kind)
    until(lambda: given, "the file")
    name, content = given[0]
    assert name == f"ur5_impedance_scope.{kind.lower()}"
    assert content.startswith(begin)
    if kind == "CSV":
        assert content.count(b"\n") == 201


def test_nothing_to_export_is_told(browser, page):
    open_scope(browser, page)
    browser.set("Export trace", "CSV")
    until(lambda: "there is no trace to export yet" in text(page), "the message")
