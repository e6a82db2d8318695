# SPDX-License-Identifier: Apache-2.0
"""Forward and inverse kinematics of all legs in C, compiled when needed: the reference for the time of a tick."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Leg, Robot

SOURCE = Path(__file__).with_name("leg_kinematics.c")
FLAGS = ("-O2", "-shared", "-fPIC")


class MissingCompilerError(RuntimeError):
    """There is no C compiler; the message says which package to install."""


class CKinematics:
    """The compiled kinematics for one robot."""

    def __init__(self, robot: Robot) -> None:
        """Compiles the C source. Raises MissingCompilerError, or CalledProcessError with the compiler's output."""
        self._library = _compiled()
        self._legs = np.array([_parameters(leg) for leg in robot.legs])

    def run(self, joints: Array, ticks: int) -> tuple[Array, Array]:
        """Repeats forward and inverse kinematics `ticks` times from joint angles (n, 3) [rad].

        Returns the feet (n, 3) [m] and the joint angles computed back from them.
        """
        angles = np.array(joints, dtype=np.float64)
        feet = np.zeros_like(angles)
        legs, angles_pointer, feet_pointer = (
            ctypes.c_void_p(array.ctypes.data) for array in (self._legs, angles, feet)
        )
        self._library.kinematics_ticks(legs, len(self._legs), ticks, angles_pointer, feet_pointer)
        return feet, angles


def _compiled() -> ctypes.CDLL:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise MissingCompilerError("gcc is missing: apt install gcc libc6-dev")
    with TemporaryDirectory() as folder:
        library = Path(folder, "leg_kinematics.so")
        command = [compiler, *FLAGS, "-o", str(library), str(SOURCE), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library))


def _parameters(leg: Leg) -> tuple[float, ...]:
    """Returns the fields of `struct leg`, in order."""
    lengths = (leg.coxa.length, leg.femur.length, leg.tibia.length, leg.femur_lateral, leg.femur_vertical)
    lower, upper = (tuple(getattr(joint, side) for joint in leg.joints) for side in ("lower", "upper"))
    return (*leg.hip, *leg.hip_direction, *lengths, *lower, *upper)
