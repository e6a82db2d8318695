"""Node gamepad with an emulated input device: its state, its removal, and the reaction of teleop."""

import builtins
import errno
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sensor_msgs.msg import Joy
from support.real_time.ros_bench import overrides
from support.real_time.teleop_bench import L1, STOP, Robot, connected, speeds, teleop

from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.nodes.gamepad import gamepad
from hexapod_control.nodes.gamepad.evdev_gamepad import (
    EV_ABS,
    EV_KEY,
    EV_SYN,
    SYN_DROPPED,
    EvdevGamepad,
    GamepadLostError,
)
from hexapod_control.nodes.gamepad.gamepad import GamepadNode
from hexapod_control.ros import messages
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import EVENTS

KEYS = [0x130, 0x131, 0x133, 0x134, 0x136, 0x137, 0x13A, 0x13B, 0x13C, 0x13D, 0x13E]
STICK, TRIGGER, HAT = (-32768, 32767), (0, 255), (-1, 1)
XBOX = {0: STICK, 1: STICK, 2: TRIGGER, 3: STICK, 4: STICK, 5: TRIGGER, 0x10: HAT, 0x11: HAT}
GENERIC = {0: TRIGGER, 1: TRIGGER, 2: TRIGGER, 5: TRIGGER, 0x10: HAT, 0x11: HAT}
BLUETOOTH = {0: STICK, 1: STICK, 2: STICK, 5: STICK, 9: TRIGGER, 10: TRIGGER}


class Device:
    """A stub for evdev.InputDevice."""

    def __init__(self, axes=XBOX, keys=KEYS, vendor=0x045E, name="Test Pad"):
        self.name, self.info = name, SimpleNamespace(vendor=vendor)
        self.axes, self.keys = axes, keys
        self.values = {
            code: (low + high + 1) // 2 if high > 1 and low < 0 else low for code, (low, high) in axes.items()
        }
        self.values |= {code: 0 for code, ends in axes.items() if ends == HAT}
        if axes is GENERIC:
            self.values |= dict.fromkeys((0, 1, 2, 5), 128)
        self.pressed, self.events = set(), []
        self.gone = self.closed = False

    def capabilities(self):
        ranges = [(code, SimpleNamespace(min=low, max=high)) for code, (low, high) in self.axes.items()]
        return {EV_ABS: ranges, EV_KEY: self.keys}

    def absinfo(self, axis):
        self._check()
        return SimpleNamespace(value=self.values[axis])

    def active_keys(self):
        self._check()
        return list(self.pressed)

    def read(self):
        self._check()
        if not self.events:
            raise BlockingIOError
        events, self.events = self.events, []
        return iter(events)

    def close(self):
        self.closed = True

    def _check(self):
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")

    def event(self, kind, code, value):
        self.events.append(SimpleNamespace(type=kind, code=code, value=value))
        if kind == EV_ABS:
            self.values[code] = value
        elif kind == EV_KEY:
            (self.pressed.add if value else self.pressed.discard)(code)


def after(device, *events):
    pad = EvdevGamepad(device, 0.05)
    for event in events:
        device.event(*event)
    pad.read()
    return pad.state


def test_at_rest_everything_is_zero():
    for axes in (XBOX, GENERIC, BLUETOOTH):
        pad = after(Device(axes))
        assert pad == GamepadState([0.0] * 6, [0] * 21)


def test_sticks_are_positive_to_the_left_and_forward_and_triggers_negative():
    pad = after(Device(), *((EV_ABS, code, STICK[0]) for code in (0, 1, 3, 4)), (EV_ABS, 2, 255), (EV_ABS, 5, 255))
    assert pad.axes == pytest.approx([1.0, 1.0, 1.0, 1.0, -1.0, -1.0], abs=1e-4)
    pad = after(Device(), *((EV_ABS, code, STICK[1]) for code in (0, 1, 3, 4)))
    assert pad.axes[:4] == pytest.approx([-1.0] * 4, abs=1e-4)


def test_stick_values_start_at_zero_at_the_edge_of_the_dead_zone():
    def value(x):
        return after(Device(), (EV_ABS, 0, round(x * 32767))).axes[0]

    assert value(-0.049) == 0.0
    assert value(-0.06) == pytest.approx(0.01 / 0.95, abs=1e-3)
    values = [value(-k / 50) for k in range(-50, 51)]
    assert values == sorted(values)


def test_a_value_beyond_the_ends_of_its_axis_counts_as_its_end_and_an_axis_without_range_as_centred():
    assert after(Device(), (EV_ABS, 5, 999)).axes[5] == -1.0 and after(Device(), (EV_ABS, 5, -999)).axes[5] == 0.0
    assert after(Device(), (EV_ABS, 0, -99_999)).axes[0] == 1.0 and after(Device(), (EV_ABS, 0, 99_999)).axes[0] == -1.0
    assert after(Device(XBOX | {0: (0, 0)}), (EV_ABS, 0, 7)).axes[0] == 0.0


@pytest.mark.parametrize(("axes", "right"), [(XBOX, (3, 4)), (GENERIC, (2, 5)), (BLUETOOTH, (2, 5))])
def test_the_right_stick_is_found_whichever_axes_it_has(axes, right):
    low = axes[right[0]][0]
    pad = after(Device(axes), *((EV_ABS, code, low) for code in right))
    assert pad.axes[2:4] == pytest.approx([1.0, 1.0])


def test_triggers_are_found_as_other_axes_or_as_buttons():
    assert after(Device(BLUETOOTH), (EV_ABS, 10, 255)).axes[4:] == pytest.approx([-1.0, 0.0])
    assert after(Device(GENERIC), (EV_KEY, 0x139, 1)).axes[4:] == pytest.approx([0.0, -1.0])


@pytest.mark.parametrize(("vendor", "numbers"), [(0x045E, (2, 3)), (0x054C, (3, 2)), (0x057E, (3, 2))])
def test_x_and_y_follow_the_labels_of_the_manufacturer(vendor, numbers):
    for code, number in zip((0x133, 0x134), numbers, strict=True):
        assert after(Device(vendor=vendor), (EV_KEY, code, 1)).buttons[number] == 1


# linux/input-event-codes.h: south, east, X and Y, select, mode, start, thumb left and right, L1, R1, D-pad
CODES = [0x130, 0x131, 0x133, 0x134, 0x13A, 0x13C, 0x13B, 0x13D, 0x13E, 0x136, 0x137, 0x220, 0x221, 0x222, 0x223]


def test_kinds_of_events_are_those_of_the_kernel():
    assert (EV_SYN, EV_KEY, EV_ABS, SYN_DROPPED) == (0, 1, 3, 3)


@pytest.mark.parametrize(("number", "code"), list(enumerate(CODES)))
def test_every_button_of_the_kernel_has_the_number_of_sdl(number, code):
    pad = after(Device(keys=CODES), (EV_KEY, code, 1))
    assert [k for k, pressed in enumerate(pad.buttons) if pressed] == [number]


@pytest.mark.parametrize(("event", "number"), [((0x11, -1), 11), ((0x11, 1), 12), ((0x10, -1), 13), ((0x10, 1), 14)])
def test_a_d_pad_may_be_axes(event, number):
    pad = after(Device(), (EV_ABS, *event))
    assert [k for k, pressed in enumerate(pad.buttons) if pressed] == [number]


def test_events_lost_in_a_full_queue_are_requested_again():
    device = Device()
    pad = EvdevGamepad(device, 0.05)
    device.values[1] = STICK[0]
    device.values[0x11] = -1
    device.pressed = {0x136}
    device.events = [SimpleNamespace(type=EV_SYN, code=SYN_DROPPED, value=0)]
    pad.read()
    assert pad.state.axes[1] == pytest.approx(1.0, abs=1e-4)
    assert (pad.state.buttons[L1], pad.state.buttons[11]) == (1, 1)


def test_a_removed_device_is_reported():
    device = Device()
    pad = EvdevGamepad(device, 0.05)
    device.gone = True
    with pytest.raises(GamepadLostError, match="No such device"):
        pad.read()
    with pytest.raises(GamepadLostError):
        EvdevGamepad(device, 0.05)


@pytest.mark.parametrize(
    ("axes", "keys"), [({0: STICK}, [0x110]), ({0: STICK, 1: STICK}, [0x110]), ({0: STICK}, KEYS)], ids=str
)
def test_a_mouse_and_other_devices_without_two_axes_and_the_first_button_are_no_gamepads(axes, keys):
    assert not EvdevGamepad(Device(axes, keys), 0.05).usable


# --- the node -------------------------------------------------------------------------------------------------


def pads(bench, *devices, **parameters):
    return bench.add(GamepadNode(lambda: devices, parameter_overrides=overrides(**parameters)))


def test_the_state_is_sent_when_it_changes_and_repeated(bench):
    device = Device()
    pads(bench, device)
    received = bench.listen(Joy, "joy")
    bench.until(lambda: len(received) > 10, 2.0)
    device.event(EV_KEY, 0x130, 1)
    bench.until(lambda: received[-1].buttons[0], 0.3)
    times = [messages.nanoseconds(message.header.stamp) for message in received if not message.buttons[0]]
    assert min(np.diff(times)) > 0.9e9 / 20.0
    assert (len(received[-1].axes), len(received[-1].buttons)) == (6, 21)


def test_a_gamepad_that_is_removed_with_the_stick_forward_is_a_stop(bench):
    device = Device()
    node, driver = pads(bench, device), teleop(bench)
    Robot(bench)
    received = bench.velocities()
    bench.until(lambda: connected(driver) and driver.teleop.robot.maxima.vx > 0.0)
    device.event(EV_KEY, 0x136, 1)
    device.event(EV_ABS, 1, STICK[0])
    bench.until(lambda: received and speeds(received)[-1].vx > 0.0)
    device.gone = True
    assert bench.until(lambda: speeds(received)[-1].is_zero, STOP) < 0.3
    assert "gamepad Test Pad was removed" in node.last_report("lost")
    bench.until(lambda: not connected(driver), 2.0, "silence")
    assert device.closed
    device.gone = False  # plugged in again, everything still held
    before = len(received)
    bench.until(lambda: connected(driver), 3.0)
    bench.until(lambda: "enable_button" in (driver.teleop.pressed or ()))
    assert len(received) == before


def test_a_callback_that_fails_puts_all_controls_at_rest_and_the_gamepad_is_opened_again(bench):
    device = Device()
    device.pressed = {0x130}
    node, received = pads(bench, device), bench.listen(Joy, "joy", EVENTS)
    bench.until(lambda: received and received[-1].buttons[0])
    node.safe_stop("poll")
    bench.until(lambda: not any(received[-1].buttons))
    assert device.closed and node.status()["gamepad"] == "none"
    assert node.last_report("lost") == "poll failed: reopening the gamepad"
    node.safe_stop("poll")
    for kind in ("lost", "found"):
        if kind == "found":
            bench.until(lambda: received[-1].buttons[0], 3.0)
        assert node.sent_reports[kind].logged == node.sent_reports[kind].when
    assert node.status()["gamepad"] == "Test Pad"


def test_a_node_that_is_asked_to_end_puts_all_controls_at_rest(bench):
    idle, sent = bench.add(GamepadNode(list)), bench.listen(Joy, "joy", EVENTS)
    bench.until(lambda: bench.probe.count_publishers("joy") and idle.count_subscribers("joy"))
    idle.request_stop()
    bench.remove(idle)
    device = Device()
    device.pressed = {0x130}
    node = pads(bench, device)
    bench.until(lambda: sent and sent[-1].buttons[0])
    assert all(message.buttons[0] for message in sent)  # nothing was sent without a gamepad
    node.request_stop()
    node.publish_final_state()
    bench.until(lambda: not all(message.buttons[0] for message in sent))
    (last,) = [message for message in sent if not message.buttons[0]]
    assert (last.header.frame_id, list(last.axes), list(last.buttons)) == ("joy", [0.0] * 6, [0] * 21)
    assert node.stopped()


def test_the_gamepad_with_the_name_is_opened_and_the_others_closed(bench):
    mouse, other, wanted = Device(keys=[0x110]), Device(name="Brand A"), Device(name="Brand B pad")
    removed = Device(name="Brand B too")
    removed.gone = True
    node = pads(bench, removed, mouse, other, wanted, device_name="brand b")
    assert node.status()["gamepad"] == "Brand B pad" and node.last_report("found") == "gamepad Brand B pad"
    assert mouse.closed
    assert other.closed


def test_without_a_gamepad_it_waits_and_reports_the_remedy(bench):
    found = []
    named = pads(bench, device_name="brand b")
    assert named.last_report("none").startswith("no gamepad with 'brand b' in its name: plug one in; ")
    node = bench.add(GamepadNode(lambda: found))
    assert node.last_report("none").startswith("no gamepad: plug one in; ")
    found.append(Device())
    bench.until(lambda: node.status()["gamepad"] == "Test Pad", 3.0)


def test_devices_that_may_not_be_opened_are_left_out(monkeypatch):
    def opened(path):
        if path == "/dev/input/event1":
            raise PermissionError(errno.EACCES, "Permission denied")
        return f"the device {path}"

    paths = [f"/dev/input/event{k}" for k in range(3)]
    monkeypatch.setitem(sys.modules, "evdev", SimpleNamespace(list_devices=lambda: paths, InputDevice=opened))
    assert list(gamepad.devices()) == [f"the device {path}" for path in (paths[0], paths[2])]


def test_without_evdev_the_remedy_is_reported(bench, monkeypatch):
    load = builtins.__import__

    def lacking(name, *rest):
        if name == "evdev":
            raise ModuleNotFoundError(name="evdev")
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ParameterError, match="apt install python3-evdev"):
        list(gamepad.devices())
