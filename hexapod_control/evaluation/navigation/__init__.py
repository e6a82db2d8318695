# SPDX-License-Identifier: Apache-2.0
"""Nav2 with a simulated robot: a map of its room, the processes, and walks to goals judged by ground truth."""
