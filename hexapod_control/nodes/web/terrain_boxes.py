"""The terrain of the simulated world as boxes for the page."""

from __future__ import annotations

from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.ros import messages

SOLID = (Marker.CUBE, Marker.CUBE_LIST, Marker.CYLINDER)
MAX_BOXES = 5000


def boxes(message: MarkerArray) -> list[list[float]]:
    """The boxes of a message: center x, y, z [m], yaw, pitch [rad], half sizes [m]; a cylinder becomes its box."""
    found: list[list[float]] = []
    for marker in message.markers:
        if marker.action != Marker.ADD or marker.type not in SOLID:
            continue
        _, pitch, yaw = messages.roll_pitch_yaw(marker.pose.orientation)
        half = (marker.scale.x / 2, marker.scale.y / 2, marker.scale.z / 2)
        center = marker.pose.position
        points = marker.points if marker.type == Marker.CUBE_LIST else [center]
        found += [[round(v, 4) for v in (p.x, p.y, p.z, yaw, pitch, *half)] for p in points[:MAX_BOXES]]
    return found[:MAX_BOXES]
