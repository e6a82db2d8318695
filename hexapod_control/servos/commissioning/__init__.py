"""Commissioning, the first evening with a robot: stages from the stand to a slow walk, repeated and resumed."""
