"""Service that gives the cycles of the last minute part by part, as for the scope of the page."""

from __future__ import annotations

from rcl_interfaces.srv import GetParameters

from ....control.controller import Controller
from ....core.errors import RobotControlError
from ....ros.cycle_values import answer_request, refusal
from ....ros.entities import Entities
from ..cycle_records import recorder_of


class CycleService:
    """The service ``~/get_cycles``; see :mod:`robot_control_ros.ros.cycle_values`.

    Args:
        entities: Entities of the node, which the service is made with.
        loop: Control loop whose recorder is read; its cycles aren't held up.
    """

    def __init__(self, entities: Entities, loop: Controller) -> None:
        self._loop = loop
        entities.service(GetParameters, "~/get_cycles", self._answer)

    def _answer(
        self, request: GetParameters.Request, response: GetParameters.Response
    ) -> GetParameters.Response:
        try:
            response.values = answer_request(recorder_of(self._loop), list(request.names))
        except RobotControlError as error:
            response.values = refusal(str(error))
        return response
