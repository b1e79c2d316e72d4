"""Gymnasium environments of compliant arms; importing this module registers their ids.

    import gymnasium
    from robot_control_ros import gym

    env = gymnasium.make("robot_control_ros/Press-v0", stiffness=True)

ComplianceEnv is the environment, RecordEpisodes writes its episodes as MCAP files. The page is docs/learning.md.
"""

from importlib.util import find_spec

from ...core.errors import missing_extra

if find_spec("gymnasium") is None:
    raise missing_extra("robot_control_ros.gym", "gymnasium", "learning")

import gymnasium

from .compliance_env import ComplianceEnv
from .record_episodes import RecordEpisodes
from .tasks import TASKS

__all__ = ["TASKS", "ComplianceEnv", "RecordEpisodes"]

for _name, _task in TASKS.items():
    gymnasium.register(
        id=f"robot_control_ros/{_task.id}-v0",
        entry_point="robot_control_ros.client.gym.compliance_env:ComplianceEnv",
        vector_entry_point="robot_control_ros.client.gym.compliance_vector_env:make_vector_env",
        max_episode_steps=_task.steps,
        kwargs={"task": _name},
    )
