"""Identification of the arm of a running controller, over ROS."""

from __future__ import annotations

import contextlib
import time

from ..client.ros_thread import RosThread
from ..ros.recorded_arm import RecordedArm
from .dialog import Dialog
from .estimate import Identification
from .running_arm import RunningIdentification
from .session import IdentificationRequest, write_results


def identify_running(
    controller: str, request: IdentificationRequest, dialog: Dialog
) -> Identification | None:
    """Identify the arm of a running controller.

    However it ends, the arm holds where it is, under the law and the gains of before.

    Args:
        controller: Name of the controller, with its namespace where it has one.
        request: Bounds, mode and files.
        dialog: Person who agrees to the motion, sees its steps and may stop it.

    Returns:
        What was found; None where the person didn't agree.

    Raises:
        StopRequested: The person has stopped it.
        ConfigError, HardwareFault: See :class:`~.running_arm.RunningIdentification` and
            :func:`~.session.write_results`.
    """
    name = "/" + controller.strip("/")
    # ros.check() tells what has failed
    ros = RosThread(None, name.rpartition("/")[0], lambda error: None)
    with contextlib.ExitStack() as opened:
        opened.callback(ros.close)
        arm = RecordedArm(ros.node, ros.entities, name)
        opened.callback(arm.close)
        ros.start()

        def wait(seconds: float) -> None:
            dialog.check_stop()
            ros.check()
            time.sleep(seconds)

        session = RunningIdentification(arm, wait, controller, dialog, request.mode)
        plan = session.plan(request.bounds)
        if not dialog.agrees(session.robot, plan):
            return None
        identification, recording = session.run(plan)
    write_results(session.robot, identification, recording, request, dialog)
    return identification
