"""The configuration file of RViz for a robot whose frames have a prefix."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hexapod_control.config.bounded_yaml import parse, parser, read_text
from hexapod_control.config.shipped_files import share


def rviz_file(frame_prefix: str) -> Path:
    """Path of the shipped file, or, with a prefix, of a copy in which model and camera use the prefix.

    RViz appends a slash to the prefix of a model, so only a prefix that ends with a slash works in RViz.
    """
    shipped = share("config", "rviz", "hexapod.rviz")
    if not frame_prefix:
        return shipped
    yaml = parser()
    view = parse(read_text(shipped), yaml)
    assert isinstance(view, dict)
    manager = view["Visualization Manager"]
    for display in manager["Displays"]:
        if "TF Prefix" in display:
            display["TF Prefix"] = frame_prefix.removesuffix("/")
    camera = manager["Views"]["Current"]
    camera["Target Frame"] = frame_prefix + camera["Target Frame"]
    # Not deleted, as RViz reads it when it starts and may be restarted.
    with tempfile.NamedTemporaryFile("w", prefix="hexapod_", suffix=".rviz", delete=False) as file:
        yaml.dump(view, file)
    return Path(file.name)
