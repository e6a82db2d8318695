"""Simulates one robot in MuJoCo: model, terrain, servo models and sensors."""
