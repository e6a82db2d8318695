# SPDX-License-Identifier: Apache-2.0
"""`hexapod check`: capabilities of a robot and loads of its servos, as readable remarks."""
