# SPDX-License-Identifier: Apache-2.0
"""Stubs for the parts of `launch` and `launch_ros` that launch files use: the ROS wheels have neither."""

import importlib.util
import sys
from types import SimpleNamespace

ACTIONS = "Action DeclareLaunchArgument EmitEvent LogInfo OpaqueFunction Shutdown TimerAction Node SignalProcess"
ACTIONS += " PythonLaunchDescriptionSource"


class Recorded:
    """An action that only keeps its arguments."""

    def __init__(self, *given, **named):
        self.given, self.named = given, named


class Include:
    """Loads a launch file as IncludeLaunchDescription does."""

    def __init__(self, *source, **launch_arguments):
        """As a test loads a file, or as a launch file includes another one."""
        given = launch_arguments.pop("launch_arguments", None) if source else None
        self.launch_arguments = launch_arguments.items() if given is None else given

    def execute(self, path):
        """Returns the actions of the file, and the values of all its arguments as it would get them."""
        spec = importlib.util.spec_from_file_location("launch_file", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.generate_launch_description()

    def start(self, path):
        """Returns what the file starts."""
        return self.execute(path)[-1].named["function"](dict(self.launch_arguments))


def install(monkeypatch):
    """Puts the stubs where launch files look for them."""
    made = {name: type(name, (Recorded,), {}) for name in ACTIONS.split()}
    made |= {"LaunchContext": dict, "LaunchDescription": list, "IncludeLaunchDescription": Include}
    made |= {"ParameterValue": lambda value, value_type: value, "matches_action": lambda action: action}
    made |= {"LaunchConfiguration": lambda name: SimpleNamespace(perform=lambda context: (context or {}).get(name, ""))}
    made |= {"normalize_to_list_of_substitutions": lambda text: text}
    made |= {"perform_substitutions": lambda context, text: text}
    parts = ("launch_description_sources", "actions", "events", "events.process", "substitutions", "utilities")
    names = ["launch", "launch_ros", "launch_ros.actions", "launch_ros.parameter_descriptions"]
    for name in (*names, *(f"launch.{part}" for part in parts)):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**made))
    name = "hexapod_control.bringup.launch_descriptions"
    monkeypatch.delitem(sys.modules, name, raising=False)
    # With the stubs it is loaded anew, and by the next test again.
    monkeypatch.setitem(sys.modules, name, importlib.import_module(name))
