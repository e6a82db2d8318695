# SPDX-License-Identifier: Apache-2.0
"""Laws of the edits of config.txt and cmdline.txt, for any text."""

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from hexapod_control.bringup.installation.boot_files import (
    CONFIG,
    PI_MODELS,
    settings,
    with_settings,
    without_console,
)
from hexapod_control.bringup.installation.system_root import SystemRoot, apply, text_edit, undo

CMDLINE = "console=serial0,115200 dwc_otg.lpm_enable=0 console=tty1 root=LABEL=writable\n"
WANTED = ("dtparam=i2c_arm=on", "dtparam=i2c_arm_baudrate=400000", "enable_uart=1", "dtoverlay=disable-bt")
LINES = st.sampled_from(
    [
        *("[all]", "[pi4]", "[pi5]", "[none]", "", "# remark", "enable_uart=0", "enable_uart=1  # pins 8 and 10"),
        *("dtparam=i2c_arm=off", "dtparam=i2c=on,spi=on", "dtparam=i2c_arm_baudrate=100000", "dtoverlay=disable-bt"),
        *("dtoverlay=dwc2,dr_mode=host", "initramfs initrd.img followkernel", "dtparam=audio"),
    ]
)
TEXTS = st.tuples(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans()).map(
    lambda parts: parts[1].join(parts[0]) + (parts[1] if parts[2] else "")
)


@given(TEXTS, st.sampled_from([model.section for model in PI_MODELS.values()]))
def test_all_settings_are_in_force_afterwards_and_all_lines_are_kept(text, section):
    after = with_settings(text, WANTED, section)
    found = list(settings(after, section))
    last = {key: value for key, value in found if key != "dtoverlay"}
    assert last["dtparam=i2c_arm"] == "on" and last["dtparam=i2c_arm_baudrate"] == "400000"
    assert last["enable_uart"] == "1" and ("dtoverlay", "disable-bt") in found
    assert after.startswith(text) and with_settings(after, WANTED, section) == after


@effort(max_examples=20)  # each writes files to the disk
@given(TEXTS, LINES)
def test_undo_removes_only_its_own_lines(tmp_path_factory, text, line):
    root = SystemRoot(tmp_path_factory.mktemp("root"))
    text = text if text.endswith("\n") or not text else f"{text}\n"
    place = root.local_path(CONFIG)
    place.parent.mkdir(parents=True)
    place.write_text(text, newline="")
    apply(root, text_edit(root, CONFIG, with_settings(text, WANTED, "pi4")))
    changed = root.text(CONFIG)
    place.write_text(f"{line}\n{changed}{line}\n", newline="")
    assert all(done for _, done in undo(root))
    expected = f"{line}\n{text}{line}\n"
    assert root.text(CONFIG) == (expected if changed != text else f"{line}\n{changed}{line}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (CMDLINE, CMDLINE.removeprefix("console=serial0,115200 ")),
        ("a console=ttyAMA0\n", "a \n"),
        ("console=tty1 console=ttyS0,9600n8 x=console=serial0 b", "console=tty1 x=console=serial0 b"),
        ("netconsole=serial0 console=serial01", "netconsole=serial0 console=serial01"),
    ],
)
def test_only_the_console_on_the_uart_is_removed(before, after):
    assert without_console(before, PI_MODELS["4"].consoles) == after
