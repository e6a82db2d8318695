"""The keys of a robot file: one table row per key with its bounds, unit and remedy."""

from __future__ import annotations

from hexapod_control.config.schema import KeyRow, NumberRow, TextRow
from hexapod_control.core.names import JOINTS

_METRES = "metres, not millimetres?"
_KILOGRAMS = "kilograms, not grams?"
_DEGREES = "degrees"
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_A_NAME = "a name of letters, digits and _"

MAX_ANGLE_DEG = 180.0  # of a joint to either side
LEAST_COXA_M = 1e-7
LEAST_MASS_KG = 1e-4  # of a part of a leg
SERVO_MODEL = TextRow("servo.model", r"(?s).*\S.*", "a text", "the servo's name")
SERVO_VOLTAGE = NumberRow("servo.voltage", 1, 3.0, 30.0, "V", "the supply of the servos")  # for the servo table
ROBOT: tuple[KeyRow, ...] = (
    TextRow("name", _NAME, _A_NAME, "it becomes the name of the URDF"),
    NumberRow("body.size", 3, 0.001, 2.0, "m", _METRES),
    NumberRow("body.center", 3, -1.0, 1.0, "m", _METRES),
    NumberRow("body.mass", 1, 0.001, 100.0, "kg", _KILOGRAMS),
    NumberRow("body.center_of_mass", 3, -1.0, 1.0, "m", _METRES),
    NumberRow("foot.radius", 1, 0.0005, 0.2, "m", _METRES),
    NumberRow("imu.position", 3, -2.0, 2.0, "m", _METRES),
    TextRow("walk.gait", _NAME, "the name of a gait, or auto", "tripod is the usual one"),
    NumberRow("walk.height", 1, 0.001, 2.0, "m", _METRES),
    NumberRow("walk.swing_time", 1, 0.05, 10.0, "s", "seconds, not milliseconds?"),
    NumberRow("walk.lift_height", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("walk.preload", 1, 0.0, 0.02, "m", "0 unless the feet of a soft robot must press"),
)
COMMON: tuple[KeyRow, ...] = (  # under `leg`, or under the name of a leg to override
    NumberRow("coxa.length", 1, LEAST_COXA_M, 1.0, "m", _METRES),
    NumberRow("coxa.mass", 1, LEAST_MASS_KG, 20.0, "kg", _KILOGRAMS),
    NumberRow("coxa.radius", 1, 0.001, 0.2, "m", _METRES),
    NumberRow("femur.length", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("femur.mass", 1, LEAST_MASS_KG, 20.0, "kg", _KILOGRAMS),
    NumberRow("femur.radius", 1, 0.001, 0.2, "m", _METRES),
    NumberRow("femur.lateral_offset", 1, -0.5, 0.5, "m", _METRES),
    NumberRow("femur.vertical_offset", 1, -0.5, 0.5, "m", _METRES),
    NumberRow("tibia.length", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("tibia.mass", 1, LEAST_MASS_KG, 20.0, "kg", _KILOGRAMS),
    NumberRow("tibia.radius", 1, 0.001, 0.2, "m", _METRES),
    *(
        NumberRow(f"joints.{joint}.{side}_deg", 1, -MAX_ANGLE_DEG, MAX_ANGLE_DEG, "deg", _DEGREES)
        for joint in JOINTS
        for side in ("lower", "upper")
    ),
    SERVO_MODEL,
    NumberRow("servo.no_load_speed", 1, 0.1, 100.0, "rad/s", "rpm / 9.549"),
    NumberRow("servo.stall_torque", 1, 0.001, 500.0, "N m", "kgf cm / 10.2"),
    NumberRow("servo.stiffness", 1, 0.01, 100000.0, "N m/rad", "torque per position error"),
    TextRow("servo.source", r"(?s).*\S.*", "a text", "where the servo's figures come from"),
)
PLACE: tuple[KeyRow, ...] = (  # under the name of each leg
    NumberRow("hip", 3, -2.0, 2.0, "m", _METRES),
    NumberRow("yaw_deg", 1, -180.0, 180.0, "deg", _DEGREES),
    NumberRow("foothold", 2, -3.0, 3.0, "m", _METRES),
)
TILT = NumberRow("tilt_deg", 2, -15.0, 15.0, "deg", "degrees; leave it out for a vertical coxa axis")  # optional
GAIT: tuple[NumberRow, ...] = (  # under the name of each gait of the optional section `gaits`
    NumberRow("duty_factor", 1, 0.5, 0.95, "", "the share of the cycle that a foot is on the ground"),
)
LIFT_OFF = NumberRow("lift_off", 1, 0.0, 1.0, "", "the phase of the cycle at which the leg lifts off")  # for each leg
ODOMETRY_SCALE: tuple[NumberRow, ...] = (  # under the optional section `odometry_scale`
    NumberRow("distance", 1, 0.5, 2.0, "", "remove the section, or calibrate again with hexapod odom-calibrate"),
    NumberRow("turn", 1, 0.5, 2.0, "", "remove the section, or calibrate again with hexapod odom-calibrate"),
)
OPTIONAL_SECTIONS = ("servos", "io", "odometry_scale")  # checked by their readers: servos.settings, odometry_scale
