"""The keys of a robot file: one table row per key with its bounds, unit, remedy, meaning and default."""

from __future__ import annotations

from hexapod_control.config.schema import NAME, NAME_BOUND, KeyRow, NumberRow, TextRow
from hexapod_control.core.names import JOINTS

_METRES = "metres, not millimetres?"
_KILOGRAMS = "kilograms, not grams?"
_SECONDS = "seconds, not milliseconds?"
_DEGREES = "degrees"
_CALIBRATE = "remove the section, or calibrate again with hexapod odom-calibrate"
_TABLE = "from the servo table"

MAX_ANGLE_DEG = 180.0  # of a joint to either side
MIN_RANGE_DEG = 10.0  # of a joint, between its limits
MIN_COXA_M = 1e-7  # stands for 0: the shapes of a link need a length
MIN_MASS_KG = 1e-4  # of a part of a leg
SERVO_MODEL = TextRow(
    "servo.model", r"(?s).*\S.*", "a text", "the servo's name", meaning="as `hexapod servos models` lists it"
)
SERVO_VOLTAGE = NumberRow(
    *("servo.voltage", 1, 3.0, 30.0, "V", "the supply of the servos"),
    meaning="under load, for the servo table",
    default="none, unless the table is used",
)
ROBOT: tuple[KeyRow, ...] = (
    TextRow("name", NAME, NAME_BOUND, "it becomes the name of the URDF", meaning="name of the robot"),
    NumberRow("body.size", 3, 0.001, 2.0, "m", _METRES, meaning="of the box, along x, y, z"),
    NumberRow("body.center", 3, -1.0, 1.0, "m", _METRES, meaning="middle of the box in base_link"),
    NumberRow("body.mass", 1, 0.001, 100.0, "kg", _KILOGRAMS, meaning="all except the legs; hip servos belong to it"),
    NumberRow("body.center_of_mass", 3, -1.0, 1.0, "m", _METRES, meaning="of the body, in base_link"),
    NumberRow("foot.radius", 1, 0.0005, 0.2, "m", _METRES, meaning="of the ball at the end of every tibia"),
    NumberRow("imu.position", 3, -2.0, 2.0, "m", _METRES, meaning="in base_link, axes parallel to it"),
    TextRow("walk.gait", NAME, "the name of a gait, or auto", "tripod is the usual one", meaning="gait to start with"),
    NumberRow("walk.height", 1, 0.001, 2.0, "m", _METRES, meaning="base_link above the ground"),
    NumberRow("walk.swing_time", 1, 0.05, 10.0, "s", _SECONDS, meaning="from lift-off to touch-down"),
    NumberRow(
        "walk.lift_height",
        1,
        0.001,
        1.0,
        "m",
        _METRES,
        meaning="top of the swing above the ground; lower near the top speed",
    ),
    NumberRow(
        *("walk.preload", 1, 0.0, 0.02, "m", "0 unless the feet of a soft robot must press"),
        meaning="planted feet are commanded this far below the ground",
    ),
)
COMMON: tuple[KeyRow, ...] = (  # under `leg`, or under the name of a leg to override
    NumberRow("coxa.length", 1, 0.0, 1.0, "m", _METRES, meaning="coxa axis to femur axis, horizontally"),
    NumberRow("coxa.mass", 1, MIN_MASS_KG, 20.0, "kg", _KILOGRAMS, meaning="centered halfway along the length"),
    NumberRow("coxa.radius", 1, 0.001, 0.2, "m", _METRES, meaning="half of the thickness, for drawings only"),
    NumberRow("femur.length", 1, 0.001, 1.0, "m", _METRES, meaning="femur axis to tibia axis"),
    NumberRow("femur.mass", 1, MIN_MASS_KG, 20.0, "kg", _KILOGRAMS, meaning="centered halfway along the length"),
    NumberRow("femur.radius", 1, 0.001, 0.2, "m", _METRES, meaning="half of the thickness, for collisions"),
    NumberRow("femur.lateral_offset", 1, -0.5, 0.5, "m", _METRES, meaning="leg's plane left of the coxa axis"),
    NumberRow("femur.vertical_offset", 1, -0.5, 0.5, "m", _METRES, meaning="femur axis above the hip"),
    NumberRow("tibia.length", 1, 0.001, 1.0, "m", _METRES, meaning="tibia axis to the center of the foot's ball"),
    NumberRow("tibia.mass", 1, MIN_MASS_KG, 20.0, "kg", _KILOGRAMS, meaning="with the foot, centered halfway"),
    NumberRow("tibia.radius", 1, 0.001, 0.2, "m", _METRES, meaning="half of the thickness, for collisions"),
    *(
        NumberRow(
            *(f"joints.{joint}.{side}_deg", 1, -MAX_ANGLE_DEG, MAX_ANGLE_DEG, "deg", _DEGREES),
            meaning=f"{side} end of the {joint}'s range",
            default=_TABLE,
        )
        for joint in JOINTS
        for side in ("lower", "upper")
    ),
    SERVO_MODEL,
    NumberRow("servo.no_load_speed", 1, 0.1, 100.0, "rad/s", "rpm / 9.549", meaning="without a load", default=_TABLE),
    NumberRow("servo.stall_torque", 1, 0.001, 500.0, "N m", "kgf cm / 10.2", meaning="at a standstill", default=_TABLE),
    NumberRow(
        *("servo.stiffness", 1, 0.01, 100000.0, "N m/rad", "torque per position error"),
        meaning="torque of the position loop per angle",
        default=_TABLE,
    ),
    TextRow(
        *("servo.source", r"(?s).*\S.*", "a text", "where the servo's figures come from"),
        meaning="data sheet or measurement",
        default=_TABLE,
    ),
)
PLACE: tuple[KeyRow, ...] = (  # under the name of each leg
    NumberRow("hip", 3, -2.0, 2.0, "m", _METRES, meaning="point on the coxa axis in base_link"),
    NumberRow(
        "yaw_deg", 1, -360.0, 360.0, "deg", _DEGREES, meaning="direction of the straight leg, from x to the left"
    ),
)
FOOTHOLD = NumberRow(
    *("foothold", 2, -3.0, 3.0, "m", _METRES),
    meaning="neutral contact point, x and y in base_link",
    default="chosen for large strides and little load",
)
TILT = NumberRow(
    *("tilt_deg", 2, -45.0, 45.0, "deg", "degrees; leave it out for a vertical coxa axis"),
    meaning="roll and pitch of the coxa axis",
    default="[0, 0]",
)
GAIT: tuple[NumberRow, ...] = (  # under the name of each gait of the optional section `gaits`
    NumberRow(
        *("duty_factor", 1, 0.5, 0.95, "", "the share of the cycle that a foot is on the ground"),
        meaning="the higher, the slower and steadier the gait",
    ),
)
LIFT_OFF = NumberRow(  # for each leg
    *("lift_off", 1, 0.0, 1.0, "", "the phase of the cycle at which the leg lifts off"),
    meaning="when this leg lifts off; every leg has a line",
)
ODOMETRY_SCALE: tuple[NumberRow, ...] = (  # under the optional section `odometry_scale`
    NumberRow("distance", 1, 0.5, 2.0, "", _CALIBRATE, meaning="factor on distances"),
    NumberRow("turn", 1, 0.5, 2.0, "", _CALIBRATE, meaning="factor on turns"),
)
OPTIONAL_SECTIONS = ("servos", "io", "odometry_scale")  # checked by their readers: servos.settings, odometry_scale
