"""Imports a URDF made for other programs: writes robot file, joint mapping and report."""
