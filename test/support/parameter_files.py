# SPDX-License-Identifier: Apache-2.0
"""Parameter files of ROS: their sections and the dotted names of their parameters."""

from functools import cache

import yaml
from support.paths import DATA


def parsed(text):
    """The document of a parameter file, by libyaml as in ROS: in a tenth of the time of ruamel.yaml."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def nav2_facts():
    """The table of what the nodes and plugins of Nav2 declare."""
    return parsed((DATA / "nav2_parameters.yaml").read_text())


def sections(text):
    """Parameters by the last part of the node's name."""

    def found(document):
        for key, section in document.items():
            if "ros__parameters" in section:
                yield key, section["ros__parameters"]
            else:
                yield from found(section)

    return dict(found(parsed(text)))


def flat(section, prefix=""):
    """Dotted names and values of a section, as ROS reads them."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def listed(section, name):
    """The names in a parameter that is a list, or one text with spaces."""
    names = section.get(name, [])
    return names.split() if isinstance(names, str) else names
