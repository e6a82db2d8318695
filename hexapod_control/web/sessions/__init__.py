# SPDX-License-Identifier: Apache-2.0
"""Access to the page and control of the robot: tokens, connections, message limits, requests for control."""
