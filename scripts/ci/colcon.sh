#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the package with colcon in a new workspace and runs the tests of what depends on where it is installed.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
source "$here/scripts/ci/underlay.bash"

paths=("$here")
TESTS=(package/test_package bringup/test_node_graph bringup/test_launch_files config/robots/test_urdf cli/test_main) # the others run in .venv

if [ -n "${ROS_DISTRO:-}" ]; then # for the wheels scripts/messages.sh builds the types of the actions
  paths+=("$here/msgs")
  TESTS+=(nodes/gait_planner/test_actions)
fi
workspace=$(mktemp -d)
trap 'rm -rf "$workspace"' EXIT
cd "$workspace"
colcon --log-base log build --base-paths "${paths[@]}" --event-handlers console_direct-
set +u
# shellcheck disable=SC1091
source install/setup.bash
set -u
tests=("${TESTS[@]/#/test/}")
colcon --log-base log test --base-paths "$here" --packages-select hexapod_control --event-handlers console_direct- --pytest-args "${tests[@]/%/.py}"
colcon test-result --verbose
