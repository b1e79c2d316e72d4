"""The page's button that keeps the controller's last minute: it tells the path, or the refusal."""

from dashboard_support import folder, text, until

from robot_control_ros.control.requests import RequestResult

SAVE = "Save the last minute"
PATH = "/home/me/records/saved_<arm>.mcap"


def test_the_button_requests_the_file_and_tells_its_path(browser, page, link):
    link.result = PATH
    browser.set(SAVE, True)
    until(lambda: PATH in text(page), "the path")
    assert link.asked == ["controller/save_record"]


def test_the_path_can_be_copied_as_it_is(browser, link):
    link.result = PATH
    browser.set(SAVE, True)
    assert browser.sees(b"/home/me/records/saved_&lt;arm&gt;.mcap</span>")


def test_a_refusal_stays_beside_the_button(browser, page, link, web):
    link.refusal = "there has been no cycle yet"
    browser.set(SAVE, True)
    until(lambda: link.refusal in text(page), "the refusal")
    web.wait(30.0)  # the bar has forgotten it
    assert text(page).count(link.refusal) == 2  # beside the button, and among the last refusals


def test_a_new_answer_takes_the_place_of_the_one_before(browser, page, link):
    link.refusal = "it is still being written"
    browser.set(SAVE, True)
    until(lambda: link.refusal in text(page), "the refusal")
    refusal, link.refusal, link.result = link.refusal, "", PATH
    replies = []
    link.request = lambda name, reply: replies.append(reply)
    browser.set(SAVE, True)
    until(lambda: replies, "the request")
    until(lambda: text(page).count(refusal) <= 1, "the old answer to go")
    replies[0](RequestResult(True, PATH))
    until(lambda: PATH in text(page), "the path")


def test_the_button_is_there_where_the_controller_writes_records(browser, page, link):
    until(lambda: folder(page, "Records").visible, "the folder")
    link.requests = lambda: frozenset({"controller/hold"})
    until(lambda: not folder(page, "Records").visible, "the folder to go")
