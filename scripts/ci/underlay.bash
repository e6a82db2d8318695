# SPDX-License-Identifier: Apache-2.0
# To be sourced: the ROS 2 installation that ROS_DISTRO names, unless one is sourced already. Without ROS_DISTRO the tests
# run on ROS wheels.
if [ -n "${ROS_DISTRO:-}" ] && ! command -v ros2 >/dev/null; then
  set +u # the files of ROS use variables that are not set
  # shellcheck disable=SC1090
  source "/opt/ros/$ROS_DISTRO/setup.bash"
  set -u
fi
