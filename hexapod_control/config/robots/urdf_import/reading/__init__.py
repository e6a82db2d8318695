# SPDX-License-Identifier: Apache-2.0
"""Reads URDF and xacro files, their tree of links and joints, and meshes, all with bounded size."""
