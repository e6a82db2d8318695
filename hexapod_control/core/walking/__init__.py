# SPDX-License-Identifier: Apache-2.0
"""Walking: stance, swing, gait changes, terrain adaptation, body pose and guided legs."""
