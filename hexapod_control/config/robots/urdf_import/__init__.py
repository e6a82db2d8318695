# SPDX-License-Identifier: Apache-2.0
"""Imports a URDF made for other programs: writes robot file, joint mapping and report."""
