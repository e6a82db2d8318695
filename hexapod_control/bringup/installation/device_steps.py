"""Set-up steps: access to serial ports, I2C and GPIO."""

from __future__ import annotations

import re

from hexapod_control.bringup.installation.boot_files import CMDLINE, CONFIG, with_settings, without_console
from hexapod_control.bringup.installation.change_record import text_edit
from hexapod_control.bringup.installation.setup_facts import SetupFacts, StepFinding, by_hand, not_needed, right, wrong
from hexapod_control.config.shipped_files import share
from hexapod_control.servos.settings.io_section import BUS, I2C_SERVOS

RULES = "/etc/udev/rules.d/99-hexapod.rules"
MODULES = "/etc/modules-load.d/hexapod.conf"
LATENCY = "/sys/bus/usb-serial/devices"
SLOW_I2C = 50_000  # [bit/s] for a BNO055
SYSTEM_IDS = range(999, 100, -1)  # of system groups
RELOAD = (("udevadm", "control", "--reload"), ("udevadm", "trigger"), ("udevadm", "settle"))
WHICH_PI = "the model of the Pi is not known: name it with --pi"


def group_membership(facts: SetupFacts) -> StepFinding:
    """Checks that the user may open the ports."""
    groups = {line.split(":")[0]: line for line in facts.root.text("/etc/group").splitlines() if line.count(":") == 3}
    wanted = ["dialout", *(["i2c"] if facts.buses else [])]
    wanted += ["gpio"] if facts.has_switches and "gpio" in groups else []
    missing = [name for name in wanted if facts.user not in groups.get(name, "").rpartition(":")[2].split(",")]
    if not missing:
        return right(f"{facts.user} is in {', '.join(wanted)}")
    edits = [
        edit
        for path in ("/etc/group", "/etc/gshadow")
        if (text := facts.root.text(path))
        for edit in text_edit(facts.root, path, _with_member(text, missing, facts.user, is_shadow="gshadow" in path))
    ]
    return wrong(f"{facts.user} is not in {', '.join(missing)} and may not open the ports", *edits)


def _with_member(text: str, names: list[str], user: str, *, is_shadow: bool) -> str:
    used = {line.split(":")[2] for line in text.splitlines() if line.count(":") == 3}
    for name in names:
        line = re.search(rf"^{name}:.*$", text, re.M)
        if line:
            new = line[0] + ("" if line[0].endswith(":") else ",") + user
            text = text[: line.start()] + new + text[line.end() :]
            continue
        number = next(str(k) for k in SYSTEM_IDS if str(k) not in used)
        used.add(number)
        new = f"{name}:!::{user}" if is_shadow else f"{name}:x:{number}:{user}"
        text += ("" if text.endswith("\n") else "\n") + f"{new}\n"
    return text


def i2c_bus(facts: SetupFacts) -> StepFinding:
    """Checks that the I2C bus of pins 3 and 5 is enabled, at a clock that the chips support."""
    if not facts.buses:
        return not_needed("the robot file has nothing on I2C")
    if facts.other_buses:
        return by_hand(f"{facts.other_buses} is not the bus of pins 3 and 5: add its overlay to {CONFIG}")
    if facts.pi is None:
        return by_hand(WHICH_PI)
    stretches = facts.pi.slow_i2c and facts.io.imu is not None and facts.io.imu.chip == "bno055"
    fast = facts.servos.baud if facts.servos.protocol == I2C_SERVOS else 0
    baud = SLOW_I2C if stretches else fast
    wanted = ["dtparam=i2c_arm=on", *([f"dtparam=i2c_arm_baudrate={baud}"] if baud else [])]
    text = facts.root.text(CONFIG)
    edits = text_edit(facts.root, CONFIG, with_settings(text, wanted, facts.pi.section))
    if not re.search(r"^\s*i2c-dev\s*$", facts.root.text(MODULES) + facts.root.text("/etc/modules"), re.M):
        edits += text_edit(facts.root, MODULES, facts.root.text(MODULES) + "i2c-dev\n")
    if edits:
        return wrong(f"{' and '.join(wanted)} in {CONFIG} and the module i2c-dev are needed for {BUS}", *edits)
    if facts.root.is_running and not facts.root.exists(BUS):
        return by_hand(f"switched on, but there is no {BUS}: restart the computer")
    return right(", ".join(wanted))


def uart(facts: SetupFacts) -> StepFinding:
    """Checks that pins 8 and 10 are the full UART /dev/ttyAMA0, whose clock is accurate at 1 Mbaud."""
    if not facts.uart:
        return not_needed("the servos are not wired to the UART")
    if facts.pi is None:
        return by_hand(WHICH_PI)
    if facts.uart != "/dev/ttyAMA0":
        return by_hand(f"servos.port is {facts.uart}: use /dev/ttyAMA0, the only UART here whose clock is steady")
    edits = text_edit(facts.root, CONFIG, with_settings(facts.root.text(CONFIG), facts.pi.uart, facts.pi.section))
    if edits:
        note = " (Bluetooth then is off)" if len(facts.pi.uart) > 1 else ""
        return wrong(f"a {facts.pi.title} needs {' and '.join(facts.pi.uart)}{note}", *edits)
    return right(", ".join(facts.pi.uart))


def serial_console(facts: SetupFacts) -> StepFinding:
    """Checks that the kernel console is not on the servos' UART."""
    if not facts.uart:
        return not_needed("the servos are not wired to the UART")
    if facts.pi is None:
        return by_hand(WHICH_PI)
    text = facts.root.text(CMDLINE)
    edits = text_edit(facts.root, CMDLINE, without_console(text, facts.pi.consoles)) if text else ()
    if edits:
        return wrong("the console of the kernel writes to the servos and reads from them", *edits)
    return right("no console on the UART")


def udev_rules(facts: SetupFacts) -> StepFinding:
    """Checks the udev rules: name, group and latency of USB adapters."""
    shipped = share("config", "udev", "99-hexapod.rules").read_text(encoding="utf-8")
    present = facts.root.text(RULES)
    rules = [line for line in shipped.splitlines() if line and not line.startswith("#")]
    missing = [line for line in rules if line not in present.splitlines()]
    if not missing:
        return right(RULES)
    gap = "" if not present or present.endswith("\n") else "\n"
    text = present + gap + "".join(f"{line}\n" for line in missing) if present else shipped
    reason = f"{RULES} lacks {len(missing)} of {len(rules)} rules: no /dev/hexapod, slow FTDI adapters"
    return wrong(reason, *text_edit(facts.root, RULES, text), commands=RELOAD)


def ftdi_latency(facts: SetupFacts) -> StepFinding:
    """Checks that the latency timer of connected FTDI adapters is 1 ms."""
    if not facts.root.is_running:
        return not_needed("seen on the running system only")
    timers = {name: facts.root.text(f"{LATENCY}/{name}/latency_timer").strip() for name in facts.root.names(LATENCY)}
    slow = [f"{name} {value} ms" for name, value in timers.items() if value not in ("", "1")]
    if slow:
        return wrong(f"holds bytes back: {', '.join(slow)} instead of 1 ms", commands=RELOAD)
    return right("1 ms") if any(timers.values()) else not_needed("no FTDI adapter is plugged in")
