#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with ROS 2 and this package.
set -e
# shellcheck disable=SC1091
source /opt/hexapod_control/setup.bash
exec "$@"
