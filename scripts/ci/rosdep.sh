#!/usr/bin/env bash
# Installs what package.xml names for the ROS 2 distribution ROS_DISTRO, and the tools of the tests; as root, in an official
# container of ROS.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/ci/packages.sh
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-pip python3-pytest-timeout
rosdep update --rosdistro "$ROS_DISTRO"
rosdep install --rosdistro "$ROS_DISTRO" --from-paths . --ignore-src -y
# Ubuntu has no package of MuJoCo.
python3 -m pip install --break-system-packages --no-cache-dir 'mujoco>=3.2' 'pillow>=10'
