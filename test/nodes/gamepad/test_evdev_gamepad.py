# SPDX-License-Identifier: Apache-2.0
"""A gamepad of the kernel as the state that the nodes use: buttons, sticks, triggers, and what is no gamepad."""

from types import SimpleNamespace

import pytest
from support.kits.input_device import BLUETOOTH, GENERIC, KEYS, STICK, TRIGGER, XBOX, Device

from hexapod_control.core.steering.gamepad_map import BUTTONS, GamepadState
from hexapod_control.nodes.gamepad.evdev_gamepad import (
    EV_ABS,
    EV_KEY,
    EV_SYN,
    SYN_DROPPED,
    EvdevGamepad,
    GamepadLostError,
)

L1 = BUTTONS["enable_button"].number


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


def test_a_value_beyond_the_ends_of_its_axis_counts_as_its_end_and_an_axis_without_range_as_centered():
    assert after(Device(), (EV_ABS, 5, 999)).axes[5] == -1.0 and after(Device(), (EV_ABS, 5, -999)).axes[5] == 0.0
    assert after(Device(), (EV_ABS, 0, -99_999)).axes[0] == 1.0 and after(Device(), (EV_ABS, 0, 99_999)).axes[0] == -1.0
    assert after(Device(XBOX | {0: (0, 0)}), (EV_ABS, 0, 7)).axes[0] == 0.0


@pytest.mark.parametrize(("axes", "right"), [(XBOX, (3, 4)), (GENERIC, (2, 5)), (BLUETOOTH, (2, 5))])
def test_the_right_stick_is_found_whichever_axes_it_has(axes, right):
    low = axes[right[0]][0]
    pad = after(Device(axes), *((EV_ABS, code, low) for code in right))
    assert pad.axes[2:4] == pytest.approx([1.0, 1.0])


def test_triggers_that_are_reported_as_rx_and_ry_are_known_by_where_they_rest():
    device = Device(GENERIC | {3: TRIGGER, 4: TRIGGER})
    device.values |= dict.fromkeys((0, 1, 2, 5), 128)
    assert after(device).axes == [0.0] * 6
    assert after(device, (EV_ABS, 3, 255), (EV_ABS, 2, 0)).axes == pytest.approx([0.0, 0.0, 1.0, 0.0, -1.0, 0.0])
    unknown = Device(GENERIC | {3: TRIGGER, 4: TRIGGER})
    unknown.values |= dict.fromkeys((2, 5), 0)  # as before the first report of some devices
    assert after(unknown, (EV_ABS, 3, 128), (EV_ABS, 4, 128)).axes[2:] == pytest.approx([0.0] * 4)


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
