# SPDX-License-Identifier: Apache-2.0
"""Where the feet may stand and how fast the robot may move, tabulated once per robot."""
