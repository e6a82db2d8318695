#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what package.xml names for the ROS 2 distribution ROS_DISTRO, and the tools of the tests; as root, in an official
# container of ROS.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/ci/packages.sh
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-pip python3-pytest-timeout
echo "yaml file://$PWD/scripts/rosdep.yaml" >/etc/ros/rosdep/sources.list.d/10-hexapod.list
rosdep update --rosdistro "$ROS_DISTRO"
# MuJoCo comes from pip, which Ubuntu's allows only with the second variable.
HEXAPOD_SIM=1 HEXAPOD_EXTRAS=1 PIP_BREAK_SYSTEM_PACKAGES=1 rosdep install --rosdistro "$ROS_DISTRO" --from-paths . msgs --ignore-src -y
