"""As a program: the node of the page, whose user begins an identification and
agrees to its bounds.
"""

from robot_control_ros.nodes.dashboard import node
from robot_control_ros.ros.running import run

PERIOD = 0.1  # s between two looks at the page


class IdentifyingPage(node.DashboardNode):
    def __init__(self):
        super().__init__()
        self.create_timer(PERIOD, self._look)

    def _look(self):
        identification = self.link.identification
        if identification.step is None:
            identification.plan()
        elif identification.step.state == "planned":
            identification.agree()


if __name__ == "__main__":
    run(IdentifyingPage)
