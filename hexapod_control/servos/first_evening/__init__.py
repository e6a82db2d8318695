"""The first evening with a robot: stages from the stand to a slow walk, which can be repeated and resumed."""
