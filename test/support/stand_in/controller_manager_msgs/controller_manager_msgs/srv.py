"""ListControllers and SwitchController, as in ros2_control's controller_manager_msgs/srv."""

import json

from diagnostic_msgs.srv import AddDiagnostics, SelfTest

from .msg import pack, unpack

ListControllers, SwitchController = SelfTest, AddDiagnostics

ListControllers.Response.controller = property(
    lambda response: unpack(response.status),
    lambda response, given: setattr(response, "status", pack(given)),
)


def _field(name, default):
    """A field of the request, kept as JSON in its only string."""

    def read(request):
        return json.loads(request.load_namespace or "{}").get(name, default)

    def write(request, value):
        request.load_namespace = json.dumps(
            {**json.loads(request.load_namespace or "{}"), name: value}
        )

    return property(read, write)


_Request = SwitchController.Request
_Request.BEST_EFFORT, _Request.STRICT = 1, 2
_Request.activate_controllers = _field("activate", [])
_Request.deactivate_controllers = _field("deactivate", [])
_Request.strictness = _field("strictness", 1)
_Request.timeout = property(lambda request: None, lambda request, value: None)
SwitchController.Response.ok = property(
    lambda response: response.success, lambda response, value: setattr(response, "success", value)
)
