#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian package as the build farm does, with bloom's rules, installs it and runs a command of it; as root, in an
# official container of ROS 2.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)

"$here/scripts/ci/rosdep.sh"
apt-get install -y -qq --no-install-recommends debhelper dh-python fakeroot python3-bloom
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
git config --global --add safe.directory "$here"
git -C "$here" archive HEAD | tar -x -C "$build" --one-top-level=source
cd "$build/source"
bloom-generate rosdebian --ros-distro "$ROS_DISTRO"
DEB_BUILD_OPTIONS=nocheck fakeroot debian/rules binary # the job runs the tests by colcon
apt-get install -y -qq "$build"/*.deb
set +u
# shellcheck disable=SC1090
source "/opt/ros/$ROS_DISTRO/setup.bash"
set -u
cd /
ros2 pkg executables hexapod_control | grep -q gait_planner
"/opt/ros/$ROS_DISTRO/lib/hexapod_control/hexapod" check phantomx
