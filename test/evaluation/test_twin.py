"""The twin of a hidden robot: it repeats a recorded run, names what differs, and finds the hidden errors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.kits.recorded_walk import record

from hexapod_control.bags.recorded_run import load_run
from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.reality import expected, reality
from hexapod_control.evaluation.twin import Twin, outliers, way_difference
