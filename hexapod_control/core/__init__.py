# SPDX-License-Identifier: Apache-2.0
"""The mathematics of a walking robot: numpy and math only, no ROS, no files, no clock (time comes in as dt).

Folders import only from those below them:

    motions       choreographed motions, executed by the planner
    planner       state machine: a time step in, foot and joint targets out
    posture       standing up, sitting down, folding, taking over a standing robot
    walking       twist to feet: stance, swing, gait changes, terrain, body pose, guided legs
    workspace     stance regions and speed limits, tabulated once per robot
    sensing       foot contacts, tilt, foot forces, odometry        | steering    paths and inputs to twists
    statics       center of mass, static margin, foot loads, compliance
    gait          gait table, gait clock, swing trajectory          | kinematics  legs, body pose, planar motion
    robot, names  geometry of the robot, and names of legs, joints and feet

`sensing` and `workspace` are independent of each other, and `steering` only uses kinematics.
"""
