#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nav2 with SLAM for a simulated robot in a room with obstacles. Ends with 0 when the robot is at the goal, with 1 if it does
# not get there.
set -euo pipefail
ros2 launch hexapod_control sim.launch.py world:=obstacles seed:=3 odometry_mode:=legs_imu stand_on_start:=true \
  web:=false use_sim_time:=true &
ros2 launch hexapod_control nav2.launch.py slam:=true use_sim_time:=true &
exec python3 "$(dirname "$0")/nav2_goal.py" "$@"
