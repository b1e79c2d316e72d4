"""As a program: a page of a robot that only the test knows; it prints what the page asks of the
robot.

Args: the port.
"""

import sys
import threading

from dashboard_support import FakeLink

from robot_control_ros.dashboard.page import Page


class PrintingLink(FakeLink):
    def set_target_pose(self, pose):
        print("target", pose[0, 3], flush=True)

    def answer(self, what, reply):
        print(what, flush=True)
        return super().answer(what, reply)


if __name__ == "__main__":
    page = Page(PrintingLink(), port=int(sys.argv[1]))
    print("open", flush=True)
    threading.Event().wait()
