# SPDX-License-Identifier: Apache-2.0
"""The gait as a table, its clock, and the trajectory of a swing."""
