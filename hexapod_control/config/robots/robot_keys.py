# SPDX-License-Identifier: Apache-2.0
"""The keys of a robot file: one table row per key with its bounds, unit, remedy, meaning and default."""

from __future__ import annotations

from collections.abc import Mapping

from hexapod_control.config.schema import NAME, NAME_BOUND, ChoiceRow, FlagRow, KeyRow, NumberRow, TextRow
from hexapod_control.core.names import JOINTS
from hexapod_control.core.quantity import Quantity

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
    "servo.voltage",
    Quantity("V", 3.0, 30.0, "supply of the servos under load, for the servo table", "none, unless the table is used"),
)
ROBOT: tuple[KeyRow, ...] = (
    TextRow("name", NAME, NAME_BOUND, "it becomes the name of the URDF", meaning="name of the robot"),
    NumberRow("body.size", Quantity("m", 0.001, 2.0, "of the box, along x, y, z"), 3),
    NumberRow("body.center", Quantity("m", -1.0, 1.0, "middle of the box in base_link"), 3),
    NumberRow("body.mass", Quantity("kg", 0.001, 100.0, "all except the legs; hip servos belong to it")),
    NumberRow("body.center_of_mass", Quantity("m", -1.0, 1.0, "of the body, in base_link"), 3),
    NumberRow("foot.radius", Quantity("m", 0.0005, 0.2, "of the ball at the end of every tibia")),
    NumberRow("imu.position", Quantity("m", -2.0, 2.0, "in base_link, axes parallel to it"), 3),
    TextRow("walk.gait", NAME, "the name of a gait, or auto", "tripod is the usual one", meaning="gait to start with"),
    NumberRow("walk.height", Quantity("m", 0.001, 2.0, "base_link above the ground")),
    NumberRow("walk.swing_time", Quantity("s", 0.05, 10.0, "from lift-off to touch-down")),
    NumberRow(
        "walk.lift_height", Quantity("m", 0.001, 1.0, "top of the swing above the ground; lower near the top speed")
    ),
    NumberRow(
        "walk.preload",
        Quantity(
            "m", 0.0, 0.02, "planted feet are commanded this far below the ground", hint="0 unless feet must press"
        ),
    ),
)
ECONOMY = FlagRow("economy", "other height, width of the stance, gait and slower steps, for least power")
COMMON: tuple[KeyRow, ...] = (  # under `leg`, or under the name of a leg to override
    NumberRow("coxa.length", Quantity("m", 0.0, 1.0, "coxa axis to femur axis, horizontally")),
    NumberRow("coxa.mass", Quantity("kg", MIN_MASS_KG, 20.0, "centered halfway along the length")),
    NumberRow("coxa.radius", Quantity("m", 0.001, 0.2, "half of the thickness, for drawings only")),
    NumberRow("femur.length", Quantity("m", 0.001, 1.0, "femur axis to tibia axis")),
    NumberRow("femur.mass", Quantity("kg", MIN_MASS_KG, 20.0, "centered halfway along the length")),
    NumberRow("femur.radius", Quantity("m", 0.001, 0.2, "half of the thickness, for collisions")),
    NumberRow("femur.lateral_offset", Quantity("m", -0.5, 0.5, "leg's plane left of the coxa axis")),
    NumberRow("femur.vertical_offset", Quantity("m", -0.5, 0.5, "femur axis above the hip")),
    NumberRow("tibia.length", Quantity("m", 0.001, 1.0, "tibia axis to the center of the foot's ball")),
    NumberRow("tibia.mass", Quantity("kg", MIN_MASS_KG, 20.0, "with the foot, centered halfway")),
    NumberRow("tibia.radius", Quantity("m", 0.001, 0.2, "half of the thickness, for collisions")),
    *(
        NumberRow(
            f"joints.{joint}.{side}_deg",
            Quantity("deg", -MAX_ANGLE_DEG, MAX_ANGLE_DEG, f"{side} end of the joint's range", _TABLE),
        )
        for joint in JOINTS
        for side in ("lower", "upper")
    ),
    SERVO_MODEL,
    NumberRow("servo.no_load_speed", Quantity("rad/s", 0.1, 100.0, "without a load", _TABLE, "rpm / 9.549")),
    NumberRow("servo.stall_torque", Quantity("N m", 0.001, 500.0, "at a standstill", _TABLE, "kgf cm / 10.2")),
    NumberRow("servo.stiffness", Quantity("N m/rad", 0.01, 1e5, "torque of the position loop per angle", _TABLE)),
    TextRow(
        *("servo.source", r"(?s).*\S.*", "a text", "where the servo's figures come from"),
        meaning="data sheet or measurement",
        default=_TABLE,
    ),
)
PLACE: tuple[KeyRow, ...] = (  # under the name of each leg
    NumberRow("hip", Quantity("m", -2.0, 2.0, "point on the coxa axis in base_link"), 3),
    NumberRow("yaw_deg", Quantity("deg", -360.0, 360.0, "direction of the straight leg, from x to the left")),
)
FOOTHOLD = NumberRow(
    "foothold",
    Quantity("m", -3.0, 3.0, "neutral contact point, x and y in base_link", "chosen for large strides and little load"),
    2,
)
TILT = NumberRow(
    "tilt_deg", Quantity("deg", -45.0, 45.0, "roll and pitch of the coxa axis, x along yaw_deg", "[0, 0]"), 2
)
GAIT: tuple[NumberRow, ...] = (  # under the name of each gait of the optional section `gaits`
    NumberRow(
        "duty_factor", Quantity("", 0.5, 0.95, "share of the cycle on the ground; the higher, the slower and steadier")
    ),
)
LIFT_OFF = NumberRow(  # for each leg
    "lift_off", Quantity("", 0.0, 1.0, "phase of the cycle at which this leg lifts off; every leg has a line")
)
CAMERA: tuple[NumberRow, ...] = (  # under the name of each camera of the optional section `cameras`
    NumberRow("position", Quantity("m", -2.0, 2.0, "of the lens in base_link"), 3),
    NumberRow("rpy_deg", Quantity("deg", -180.0, 180.0, "roll, pitch, yaw; [0, 0, 0] looks ahead, + pitch down"), 3),
    NumberRow("fov_deg", Quantity("deg", 5.0, 160.0, "of view, from side to side, from top to bottom", "[87, 58]"), 2),
    NumberRow("range", Quantity("m", 0.01, 100.0, "shortest and longest distance that it measures", "[0.1, 3]"), 2),
    NumberRow(
        "resolution",
        Quantity(
            *("", 4, 160, "columns and rows of its image in simulation", "[64, 48]"),
            hint="each pixel is a ray; the real resolution is set in its driver",
            whole=True,
        ),
        2,
    ),
    NumberRow("rate", Quantity("Hz", 0.5, 30.0, "of its images in simulation", "10")),
)
REVOLUTE = "revolute"
PRISMATIC = "prismatic"
JOINT_TYPE = ChoiceRow(
    *("type", (REVOLUTE, PRISMATIC), "as in a URDF"),
    meaning="revolute: it turns about its axis; prismatic: it slides along it",
    default=REVOLUTE,
)
EXTRA_JOINT: tuple[KeyRow, ...] = (  # under the name of each joint of the optional section `extra_joints`
    TextRow(
        *("parent", NAME, "base_link, or an extra joint above this one", "e.g. base_link"),
        meaning="what it is mounted to: base_link, or the name of an extra joint above",
        default="base_link",
    ),
    NumberRow("position", Quantity("m", -2.0, 2.0, "of a point on its axis, in the frame of the parent"), 3),
    NumberRow(
        "rpy_deg", Quantity("deg", -180.0, 180.0, "roll, pitch, yaw of its frame in the parent's", "[0, 0, 0]"), 3
    ),
    JOINT_TYPE,
    TextRow(
        *("mimic", NAME, "an extra joint with a servo, above this one", "e.g. left_finger"),
        meaning="the extra joint whose servo moves this one, too, which has none of its own",
        default="none",
    ),
    NumberRow("axis", Quantity("", -1.0, 1.0, "in its frame; + is counter-clockwise about it, or the way along it"), 3),
    NumberRow("size", Quantity("m", 0.001, 2.0, "of what it moves, a box, along x, y, z"), 3),
    NumberRow("center", Quantity("m", -2.0, 2.0, "middle of the box, from the point on the axis", "[0, 0, 0]"), 3),
    NumberRow("mass", Quantity("kg", MIN_MASS_KG, 20.0, "of the box; body.mass contains it")),
)
EXTRA_RANGES: Mapping[str, tuple[NumberRow, ...]] = {  # of an extra joint with a servo of its own, by its type
    REVOLUTE: tuple(
        NumberRow(
            f"{side}_deg", Quantity("deg", -MAX_ANGLE_DEG, MAX_ANGLE_DEG, f"{side} end of its range, if it turns")
        )
        for side in ("lower", "upper")
    ),
    PRISMATIC: (
        NumberRow("lower", Quantity("m", -2.0, 2.0, "lower end of its range, if it slides")),
        NumberRow("upper", Quantity("m", -2.0, 2.0, "upper end of its range, if it slides")),
        NumberRow("travel_per_turn", Quantity("m", 1e-4, 2.0, "its way per turn of its servo, if it slides")),
    ),
}
EXTRA_MULTIPLIER = NumberRow(
    "multiplier", Quantity("", -100.0, 100.0, "with `mimic`: its radians or metres per one of the other joint", "1")
)
EXTRA_OFFSETS: Mapping[str, NumberRow] = {  # of a joint that mimics another one, by its type
    REVOLUTE: NumberRow(
        "offset_deg", Quantity("deg", -MAX_ANGLE_DEG, MAX_ANGLE_DEG, "with `mimic`: where the other is at 0", "0")
    ),
    PRISMATIC: NumberRow("offset", Quantity("m", -2.0, 2.0, "with `mimic`: where the other is at 0", "0")),
}
EXTRA_SERVO = TextRow(
    "servo", "", "the keys of leg.servo", "", meaning="what differs from the servo of the legs", default="leg.servo"
)
ODOMETRY_SCALE: tuple[NumberRow, ...] = (  # under the optional section `odometry_scale`
    NumberRow("distance", Quantity("", 0.5, 2.0, "factor on distances", hint=_CALIBRATE)),
    NumberRow("turn", Quantity("", 0.5, 2.0, "factor on turns", hint=_CALIBRATE)),
)
MEASURED_DATE = TextRow(  # of the optional section `measured`
    "date", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date", "such as '2026-11-29', in quotes", meaning="of the measurement"
)
MEASURED: tuple[NumberRow, ...] = (  # under `measured`, leg and joint; each with its standard deviation
    NumberRow("latency", Quantity("s", 0.0, 1.0, "from the computer's goal to the motor"), 2),
    NumberRow("backlash_deg", Quantity("deg", 0.0, 90.0, "play from end to end, with the dead band"), 2),
    NumberRow("stiffness", Quantity("N m/rad", 0.0, 1e5, "torque of the position loop per angle"), 2),
    NumberRow("friction", Quantity("N m", 0.0, 100.0, "dry friction"), 2),
    NumberRow("no_load_speed", Quantity("rad/s", 0.0, 100.0, "at which a wide step levels off"), 2),
    NumberRow("resolution_deg", Quantity("deg", 0.0, 10.0, "smallest change of its angle; 0 behind it"), 2),
)
# checked by their readers: servos.settings, `odometry_scale`, `measured_section`
OPTIONAL_SECTIONS = ("servos", "io", "odometry_scale", "measured")
CONFIRMED = TextRow(  # under the optional section `confirmed`
    "KEY",
    r"(?s).*\S.*",
    "the reason in words",
    "e.g. long femurs on purpose",
    meaning="why the value of this key is right",
)
