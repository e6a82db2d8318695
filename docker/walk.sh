#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A simulated robot that walks around a square, until somebody drives it on the page.
set -euo pipefail
robot=${ROBOT:-phantomx}

# The page listens on localhost of the container and is thereby protected against foreign names; Docker needs a port that is
# open to its network.
socat TCP-LISTEN:8771,fork,reuseaddr TCP:127.0.0.1:8770 &
hexapod patrol --robot "$robot" --waypoints "$(dirname "$0")/square.yaml" --loops 10000 --blind &
exec ros2 launch hexapod_control sim.launch.py robot:="$robot" stand_on_start:=true web:=true
