# SPDX-License-Identifier: Apache-2.0
"""Stride centers: where each leg strides in each direction of travel, searched once per robot."""
