# SPDX-License-Identifier: Apache-2.0
"""The subcommands that read a robot file: URDF, Nav2 parameters, joint targets of a walk, odometry scale."""
