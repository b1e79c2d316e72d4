# Two images of one package:
#   docker build --target ros .                                    ROS 2 with ros2_control, for robots
#   docker build --target python .                                 plain Python with the wheels, for the simulation
#   docker build --target ros --build-arg ROS_DISTRO=lyrical .     another distribution
ARG ROS_DISTRO=jazzy
ARG PYTHON=3.12

FROM ros:${ROS_DISTRO} AS ros
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /workspace
COPY . src/robot_control_ros
# The package's keys are apt's packages. The simulator's MuJoCo is pip's alone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && rosdep update --rosdistro "${ROS_DISTRO}" \
    && rosdep install --from-paths src --ignore-src --rosdistro "${ROS_DISTRO}" -y \
    && python3 -m pip install --no-cache-dir --break-system-packages "mujoco>=4,<5" \
    && rm -rf /var/lib/apt/lists/*
RUN source "/opt/ros/${ROS_DISTRO}/setup.bash" \
    && colcon build --packages-select robot_control_ros \
    && echo "source /workspace/install/setup.bash" >> /etc/bash.bashrc
CMD ["bash"]

FROM python:${PYTHON}-slim AS python
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 robot
USER 1000
WORKDIR /home/robot/robot_control_ros
COPY --chown=1000 . .
# Wheels are installed and the laws compiled once, in the image.
RUN make .venv/.installed-run
ENV PATH="/home/robot/robot_control_ros/.venv/bin:${PATH}"
EXPOSE 8080
CMD ["make", "demo"]
