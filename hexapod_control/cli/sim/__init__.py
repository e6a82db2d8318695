# SPDX-License-Identifier: Apache-2.0
"""The subcommand `hexapod sim`: a robot in simulation, with a scripted demonstration and its film."""
