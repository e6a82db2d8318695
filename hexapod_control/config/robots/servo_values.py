"""Completes the section of a leg with the servo table's figures for its servo model.

Keys of the file take precedence. The figures of one model never apply to another: a leg that names its own model
inherits only the voltage from the common section `servo`.
"""

from __future__ import annotations

from dataclasses import replace

from hexapod_control.config import schema
from hexapod_control.config.document import DocumentEntry, join, merge
from hexapod_control.config.robots.robot_keys import MAX_ANGLE_DEG, SERVO_MODEL, SERVO_VOLTAGE
from hexapod_control.config.robots.servo_table import CatalogServo, nearest_models, permitted, version_for, versions
from hexapod_control.core.names import JOINTS


def merged(common: DocumentEntry, own: DocumentEntry) -> DocumentEntry:
    """The section of one leg: the common section with its own overrides, completed by the servo table."""
    if "model" in own.children.get("servo", own).children and "servo" in common.children:
        servo = common.children["servo"]
        inherited = {name: child for name, child in servo.children.items() if name == "voltage"}
        common = _with(common, "servo", replace(servo, value=inherited))
    return completed(merge(common, own))


def completed(leg: DocumentEntry) -> DocumentEntry:
    """Completes a leg's section by the figures and joint ranges of its servo model. Raises RobotFileError."""
    servo = leg.children.get("servo")
    figures = ("no_load_speed", "stall_torque", "stiffness", "source")
    absent = () if servo is None or not servo.is_section else [key for key in figures if key not in servo.children]
    joints = leg.children.get("joints")
    without_range = [name for name in JOINTS if joints is None or (joints.is_section and name not in joints.children)]
    if servo is None or not (absent or without_range) or "model" not in servo.children:
        return leg
    if not absent and not versions(str(servo.children["model"].value)):
        return leg  # an unlisted servo: a missing range is reported like any other key
    model = _model(servo)
    if without_range:
        leg = _with_ranges(leg, model, without_range)
    if not absent:
        return leg
    voltage = SERVO_VOLTAGE.value(schema.require(leg, SERVO_VOLTAGE))
    assert isinstance(voltage, float)
    speed_and_torque = model.at(voltage)
    known = {
        "no_load_speed": speed_and_torque.no_load_speed,
        "stall_torque": speed_and_torque.stall_torque,
        "stiffness": model.stiffness(voltage),
        "source": model.source,
    }
    line = servo.children["model"].line
    for key in absent:
        servo = _with(servo, key, replace(servo, key=join(servo.key, key), line=line, value=known[key]))
    return _with(leg, "servo", servo)


def _model(servo: DocumentEntry) -> CatalogServo:
    """The row of the table for the section's model and voltage."""
    entry = servo.children["model"]
    name = str(SERVO_MODEL.value(entry))
    rows = versions(name)
    if not rows:
        near = ", ".join(nearest_models(name))
        bound = "must be a servo that `hexapod servos models` lists, unless the file gives all its figures"
        raise entry.error(f"is {schema.yaml_text(entry.value)}", bound, f"did you mean {near}?" if near else "")
    voltage = servo.children.get("voltage")
    if voltage is None:
        return rows[0]
    supply = SERVO_VOLTAGE.value(voltage)
    assert isinstance(supply, float)
    fitting = version_for(name, supply)
    if fitting is None:
        bound = f"must be {permitted(name)} for {name}"
        raise voltage.error(f"is {supply:g}", bound, "the supply of the servos under load")
    return fitting


def _with_ranges(leg: DocumentEntry, model: CatalogServo, names: list[str]) -> DocumentEntry:
    """Sets missing joint limits to the range of the servo, centered on the straight leg."""
    line = leg.children["servo"].children["model"].line
    joints = leg.children.get("joints") or replace(leg, key=join(leg.key, "joints"), line=line, value={})
    end = min(MAX_ANGLE_DEG, model.turn / 2.0)
    for name in names:
        joint = replace(joints, key=join(joints.key, name), line=line, value={})
        for key, value in (("lower_deg", -end), ("upper_deg", end)):
            joint = _with(joint, key, replace(joint, key=join(joint.key, key), value=value))
        joints = _with(joints, name, joint)
    return _with(leg, "joints", joints)


def _with(section: DocumentEntry, name: str, child: DocumentEntry) -> DocumentEntry:
    """The section with one child replaced or added."""
    return replace(section, value={**section.children, name: child})
