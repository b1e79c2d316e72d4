"""Compliant arms to learn on: Gymnasium environments, and MCAP files of their episodes.

The import of this module registers the environments.

    import gymnasium
    import robot_control_learning

    env = gymnasium.make("robot_control_ros/Press-v0", stiffness=True)

ComplianceEnv is one environment. RecordEpisodes writes its episodes as MCAP files. TASKS has the
tasks by name. The page is docs/learning.md.
"""

import gymnasium

from .compliance_env import ComplianceEnv
from .record_episodes import RecordEpisodes
from .tasks import TASKS

__all__ = ["TASKS", "ComplianceEnv", "RecordEpisodes"]

for _name, _task in TASKS.items():
    gymnasium.register(
        id=f"robot_control_ros/{_task.id}-v0",
        entry_point="robot_control_learning.compliance_env:ComplianceEnv",
        vector_entry_point="robot_control_learning.compliance_vector_env:make_vector_env",
        max_episode_steps=_task.steps,
        kwargs={"task": _name},
    )
