"""Stride centers: where each leg strides in each direction of travel, searched once per robot."""
