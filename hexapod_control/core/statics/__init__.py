# SPDX-License-Identifier: Apache-2.0
"""Support polygon, static margin, foot loads, resting pose and compliance of the legs."""
