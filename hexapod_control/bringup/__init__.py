# SPDX-License-Identifier: Apache-2.0
"""Node graphs of a robot: their processes and parameters, their start and end."""
