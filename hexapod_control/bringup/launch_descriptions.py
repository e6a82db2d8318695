# SPDX-License-Identifier: Apache-2.0
"""Launch descriptions of the node graphs; with the launch files the only module that imports launch."""

from __future__ import annotations

import atexit
import inspect
import signal
import time
from collections.abc import Callable, Iterator, Sequence

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.events import matches_action
from launch.events.process import SignalProcess
from launch.substitutions import LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from hexapod_control.bringup import node_graph, restart_plan, shared_process
from hexapod_control.bringup.launch_arguments import Argument
from hexapod_control.bringup.node_graph import unused_arguments
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, new_graph, remove_state

# Arguments that launch itself reads, of any launch file.
OF_LAUNCH = frozenset({"launch-prefix", "launch-prefix-filter", "sigterm_timeout", "sigkill_timeout", "emulate_tty"})


def description(name: str) -> LaunchDescription:
    """Returns the launch description of a graph. Nodes that crash are restarted (restart_plan.py)."""

    def start(given: dict[str, str]) -> list[Action]:
        specs = node_graph.specs(name, given, in_launch_file=True)
        reason = shared_process.one_process_reason(name, given, shared_process.memory_gb())
        notes = [LogInfo(msg=text) for text in unused_arguments(specs, given)]
        if not reason:
            return [*notes, *LaunchedGraph(specs).nodes()]
        return [*notes, LogInfo(msg=reason), *LaunchedGraph(shared_process.in_one(specs)).nodes()]

    return description_of(node_graph.arguments(name), start)


def description_of(arguments: Sequence[Argument], start: Callable[[dict[str, str]], list[Action]]) -> LaunchDescription:
    """Returns a launch description with these arguments.

    `start` gets the texts of all arguments, also of those that were given to this launch file but do not exist.
    """
    include = _include()

    def begin(context: LaunchContext) -> list[Action]:
        names = {argument.name for argument in arguments} | set(_given_names(include, context)) - OF_LAUNCH
        return start({name: LaunchConfiguration(name).perform(context) for name in sorted(names)})

    declared = [DeclareLaunchArgument(a.name, default_value=a.default, description=a.description) for a in arguments]
    return LaunchDescription([*declared, OpaqueFunction(function=begin)])


def _include() -> IncludeLaunchDescription | None:
    """The action that loads the launch file that calls this module.

    launch ignores unknown arguments, and does not tell a launch file which ones it was given: the configurations of a
    context include those of the files around it. So the action is looked up among the callers.
    """
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, IncludeLaunchDescription):
            return owner
        frame = frame.f_back
    return None


def _given_names(include: IncludeLaunchDescription | None, context: LaunchContext) -> Iterator[str]:
    for name, _ in include.launch_arguments if include else ():
        yield perform_substitutions(context, normalize_to_list_of_substitutions(name))


class LaunchedGraph:
    """Starts the nodes of one graph and restarts those that crash."""

    def __init__(self, specs: Sequence[node_graph.NodeSpec]) -> None:
        self._specs = {spec.executable: spec for spec in specs}
        self._plan = restart_plan.RestartPlan()
        self._graph = new_graph()
        atexit.register(remove_state, self._graph)
        self._nodes: dict[str, Node] = {}
        self._killed: set[str] = set()  # nodes that were killed to be restarted with another one

    def nodes(self) -> list[Action]:
        """Returns the actions that start all nodes."""
        return [self._start(spec) for spec in self._specs.values()]

    def _start(self, spec: node_graph.NodeSpec) -> Node:
        parameters = {name: ParameterValue(value, value_type=type(value)) for name, value in spec.parameters.items()}
        self._nodes[spec.executable] = node = Node(
            package=spec.package,
            executable=spec.executable,
            name=None if spec.executable in shared_process.EXECUTABLES else spec.executable,
            namespace=spec.namespace.lstrip("/"),  # relative: a namespace pushed by an including file comes first
            parameters=[*([parameters] if parameters else []), *([spec.params_file] if spec.params_file else [])],
            remappings=list(spec.remaps.items()),
            arguments=list(spec.arguments),
            additional_env={VARIABLE: self._graph},
            output="screen",
            on_exit=OpaqueFunction(function=self._ended, args=[spec.executable]),
        )
        return node

    def _ended(self, context: LaunchContext, executable: str) -> list[Action]:
        """Restarts a node that has ended, unless its end was intended."""
        if context.is_shutdown:
            return []
        if executable in self._killed:
            self._killed.remove(executable)
            return []
        code = context.locals.event.returncode
        restart = OpaqueFunction(function=self._restart_or_fail, args=[executable, code])
        grace_period = restart_plan.grace_period(code)
        return [TimerAction(period=grace_period, actions=[restart])] if grace_period else [restart]

    def _restart_or_fail(self, context: LaunchContext, executable: str, code: int) -> list[Action]:
        """Restarts a node. Raises RuntimeError, which ends the launch, if it may not be restarted."""
        if code == 0 and executable in restart_plan.GUI_PROGRAMS:
            return [Shutdown(reason=f"the window of {executable} was closed")]
        rule = restart_plan.rule(executable)
        delay = self._plan.delay(executable, code, time.monotonic())
        if rule is None or delay is None:
            raise RuntimeError(restart_plan.final_report(executable, code, self._plan.crashes(executable)))
        actions: list[Action] = [LogInfo(msg=restart_plan.report(executable, code, delay))]
        for companion in self._nodes.keys() & set(rule.companions):
            self._killed.add(companion)
            matcher = matches_action(self._nodes[companion])
            actions.append(EmitEvent(event=SignalProcess(signal_number=signal.SIGKILL, process_matcher=matcher)))
            actions.append(self._restart(companion, delay + restart_plan.LEAD_S))
        return [*actions, self._restart(executable, delay)]

    def _restart(self, executable: str, delay: float) -> TimerAction:
        def start(context: LaunchContext) -> list[Node]:
            return [self._start(restart_plan.restart_spec(self._specs[executable]))]

        return TimerAction(period=delay, actions=[OpaqueFunction(function=start)])
