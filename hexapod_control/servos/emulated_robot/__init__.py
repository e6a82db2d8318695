# SPDX-License-Identifier: Apache-2.0
"""The servos and sensors of a whole robot, emulated: at its joints, in its pose, with named faults."""
