# SPDX-License-Identifier: Apache-2.0
"""Simulates one robot in MuJoCo: model, terrain, servo models and sensors."""
