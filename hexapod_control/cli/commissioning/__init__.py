# SPDX-License-Identifier: Apache-2.0
"""`hexapod first`: the commissioning of a robot, its first evening."""
