# SPDX-License-Identifier: Apache-2.0
"""The set-up steps for the computer of a robot, with their table STEPS at the end, and the supported systems.

Their inputs are facts about the system, the user and the robot file.
"""

from __future__ import annotations

import re
import secrets
import shlex
import string
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from hexapod_control.bringup.installation.boot_files import (
    CMDLINE,
    CONFIG,
    PI_MODELS,
    PiModel,
    pi_model,
    with_settings,
    without_console,
)
from hexapod_control.bringup.installation.system_root import FileEdit, SystemRoot, link_edit, text_edit
from hexapod_control.config.errors import ArgumentError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.servos.settings.io_section import BUS, I2C_SERVOS, IoSettings, io_settings
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings

MODEL = "/proc/device-tree/model"
_PLAIN_PATH = re.compile(r"/[\w./+-]+")  # systemd would split any other path at special characters
UART = re.compile(r"/dev/(ttyAMA|ttyS|serial)\d+")
RULES = "/etc/udev/rules.d/99-hexapod.rules"
MODULES = "/etc/modules-load.d/hexapod.conf"
LATENCY = "/sys/bus/usb-serial/devices"
SLOW_I2C = 50_000  # [bit/s] for a BNO055
SYSTEM_IDS = range(999, 100, -1)  # of system groups
RELOAD = (("udevadm", "control", "--reload"), ("udevadm", "trigger"), ("udevadm", "settle"))
WHICH_PI = "the model of the Pi is not known: name it with --pi"
UNITS = "/etc/systemd/system"
UNIT = f"{UNITS}/hexapod.service"
NETWORK_MANAGER = "/usr/sbin/NetworkManager"
POWER_CONF = "/etc/NetworkManager/conf.d/99-hexapod.conf"
WIFI_RULES = "/etc/udev/rules.d/98-hexapod-wifi.rules"
WIFI_RULE = 'ACTION=="add", SUBSYSTEM=="net", KERNEL=="wl*", RUN+="/usr/sbin/iw dev %k set power_save off"\n'
HOTSPOT = "/etc/NetworkManager/system-connections/hexapod-hotspot.nmconnection"
HOTSPOT_NAMES = "/etc/NetworkManager/dnsmasq-shared.d/hexapod.conf"
LOW_PORTS = "/etc/sysctl.d/99-hexapod.conf"
HOTSPOT_ADDRESS = "10.42.0.1"  # as NetworkManager gives it to a shared connection
HOTSPOT_FILE = """[connection]
id=hexapod-hotspot
type=wifi
autoconnect-priority=-1

[wifi]
mode=ap
band=bg
ssid={name}

[wifi-security]
key-mgmt=wpa-psk
psk={password}

[ipv4]
method=shared
address1={address}/24

[ipv6]
method=disabled
"""  # of a lower priority than the networks that the computer knows
_NETPLAN = "/etc/netplan"
_NETPLAN_WIFI = re.compile(r"^\s*wifis:", re.M)
_NETPLAN_MANAGER = re.compile(r"^\s*renderer:\s*NetworkManager", re.M)
_SSID = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,31}")
_PASSWORD = re.compile(r"[!-~]{8,63}")  # of WPA
_PAGE_OF_SERVICE = "web:=true web_lan:=true web_port:=80"
TIMESYNCD = "/usr/lib/systemd/system/systemd-timesyncd.service"
CLOCKS = {  # links of the time synchronisation services
    "systemd-timesyncd": f"{UNITS}/sysinit.target.wants/systemd-timesyncd.service",
    "chrony": f"{UNITS}/multi-user.target.wants/chrony.service",
    "ntpsec": f"{UNITS}/multi-user.target.wants/ntpsec.service",
}
DAEMON_RELOAD = ("systemctl", "daemon-reload")


NEXT_LOGIN = "log in again"
NEXT_START = "restart the computer"
SUPPORTED = ("ubuntu", "24.04")
_PAGE = "docs/raspberry-pi.md"
ADVICE_BY_SYSTEM = {
    "raspberry-pi-os": f'Raspberry Pi OS has no packages of ROS 2: run the container of {_PAGE}, "Raspberry Pi OS", '
    "or write Ubuntu 24.04 (64 bit) to the card",
    "ubuntu": "ROS 2 Jazzy is for Ubuntu 24.04: write its 64-bit image for the Pi to the card",
    "": f"this command sets up Ubuntu 24.04 only; on other systems follow {_PAGE} by hand, or use its container",
}


class StepState(Enum):
    """Result of the check of a set-up step."""

    RIGHT = "right"
    WRONG = "wrong"
    BY_HAND = "by hand"  # wrong, and this program cannot correct it
    NOT_NEEDED = "not needed"


class StepFinding(NamedTuple):
    """State of one step, the reason, and the edits and commands that correct it."""

    state: StepState
    reason: str
    edits: tuple[FileEdit, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()  # on the running system, after the edits


class Hotspot(NamedTuple):
    """The name and the password of the robot's own network."""

    name: str
    password: str

    @classmethod
    def of(cls, root: SystemRoot, name: str, password: str) -> Hotspot:
        """Checks both; without a password it is the present one, or a random one. Raises ArgumentError."""
        if not _SSID.fullmatch(name):
            raise ArgumentError("hotspot", name, "must be 1 to 32 letters, digits, spaces and . _ -")
        if password and not _PASSWORD.fullmatch(password):
            raise ArgumentError("password", "has other signs or length", "must be 8 to 63 signs without spaces")
        present = re.search(r"^psk=(.+)$", root.text(HOTSPOT), re.M)
        usual = present[1] if present else "".join(secrets.choice(string.ascii_lowercase) for _ in range(10))
        return cls(name, password or usual)

    @property
    def text(self) -> str:
        """The connection as NetworkManager reads it."""
        return HOTSPOT_FILE.format(name=self.name, password=self.password, address=HOTSPOT_ADDRESS)


@dataclass(frozen=True, slots=True)
class SetupFacts:
    """The system below a root folder, and the needs of the robot."""

    root: SystemRoot
    user: str
    robot: str  # path of the robot file, as seen from within the root
    workspace: str
    pi: PiModel | None
    servos: ServoSettings
    io: IoSettings
    hotspot: Hotspot | None = None

    @property
    def buses(self) -> set[str]:
        """Paths of the I2C buses that the robot uses."""
        found = {self.servos.port} if self.servos.protocol == I2C_SERVOS else set()
        return found | ({self.io.bus} if any(self.io.devices()) else set())

    @property
    def other_buses(self) -> str:
        """Buses other than that of pins 3 and 5, which need their own overlay."""
        return ", ".join(sorted(self.buses - {BUS}))

    @property
    def uart(self) -> str:
        """The UART of the computer to which the servos are wired; empty: they are on USB or I2C."""
        return self.servos.port if UART.fullmatch(self.servos.port) else ""

    @property
    def has_switches(self) -> bool:
        """Whether foot switches are on pins of the computer."""
        return self.io.feet is not None and self.io.feet.chip == "gpio"


def right(reason: str) -> StepFinding:
    """Finding: nothing to do."""
    return StepFinding(StepState.RIGHT, reason)


def not_needed(reason: str) -> StepFinding:
    """Finding: not needed by this robot."""
    return StepFinding(StepState.NOT_NEEDED, reason)


def by_hand(reason: str) -> StepFinding:
    """Finding: to be done by the user."""
    return StepFinding(StepState.BY_HAND, reason)


def wrong(reason: str, *edits: FileEdit, commands: tuple[tuple[str, ...], ...] = ()) -> StepFinding:
    """Finding: to be corrected by these edits and commands."""
    return StepFinding(StepState.WRONG, reason, edits, commands)


def gather(
    root: SystemRoot, user: str, robot: str, workspace: str, pi: str, port: str = "", hotspot: Hotspot | None = None
) -> SetupFacts:
    """Collects the facts; empty `robot` and `workspace`: robot.yaml and ws in the user's home; empty `pi`: this Pi.

    `port` replaces that of the robot file, which has none before the calibration. Raises ArgumentError, RobotFileError.
    """
    accounts = {
        fields[0]: fields for line in root.text("/etc/passwd").splitlines() if len(fields := line.split(":")) == 7
    }
    if user not in accounts:
        raise ArgumentError(
            "user", f"{user}, has no account in {root.local_path('/etc/passwd')}", "name one with --user"
        )
    home = accounts[user][5]
    paths = {"robot": robot or f"{home}/robot.yaml", "workspace": workspace or f"{home}/ws"}
    for name, path in paths.items():
        if not _PLAIN_PATH.fullmatch(path):
            raise ArgumentError(name, path, "must be an absolute path of letters, digits and . / + - _", "rename it")
    if not root.exists(paths["robot"]):
        raise ArgumentError(
            "robot", paths["robot"], "there is no such file", "copy yours there, or name it with --robot"
        )
    file = load(root.local_path(root.real(paths["robot"])))
    model = PI_MODELS[pi] if pi else pi_model(root.text(MODEL))
    servos = servo_settings(file)
    servos = replace(servos, port=port) if port else servos
    return SetupFacts(root, user, **paths, pi=model, servos=servos, io=io_settings(file), hotspot=hotspot)


class SetupStep(NamedTuple):
    """One set-up step."""

    title: str
    find: Callable[[SetupFacts], StepFinding]  # checks the system; the finding has the correction
    takes_effect: str = ""  # action after which a change takes effect; empty: at once


def unsupported(root: SystemRoot) -> str:
    """Advice for an unsupported system; empty on a supported one."""
    words = (line.partition("=") for line in root.text("/etc/os-release").splitlines())
    release = {key: " ".join(shlex.split(value)) for key, _, value in words}
    name = release.get("ID", "")
    if (name, release.get("VERSION_ID")) == SUPPORTED:
        return ""
    is_pi_os = name == "raspbian" or root.exists("/etc/rpi-issue")
    text = ADVICE_BY_SYSTEM["raspberry-pi-os"] if is_pi_os else ADVICE_BY_SYSTEM.get(name, ADVICE_BY_SYSTEM[""])
    return f"{release.get('PRETTY_NAME', 'this system')} is not changed: {text}"


def robot_service(facts: SetupFacts) -> StepFinding:
    """Checks that the robot starts at power-on, as this user, with this workspace and robot file."""
    script = f"{facts.workspace}/install/setup.bash"
    if not facts.root.exists(script):
        return by_hand(f"there is no {script}: build the workspace with colcon, or name it with --workspace")
    present = facts.root.text(UNIT)
    text = present or share("config", "systemd", "hexapod.service").read_text(encoding="utf-8")
    distribution = next(iter(facts.root.names("/opt/ros")), "jazzy")
    for pattern, value in (
        (r"^User=.*$", f"User={facts.user}"),
        (r"/opt/ros/\w+/setup\.bash", f"/opt/ros/{distribution}/setup.bash"),
        (r"\S+/install/setup\.bash", script),
        (r"robot:=[^\s']+", f"robot:={facts.robot}"),
    ):
        text = re.sub(pattern, value, text, flags=re.M)
    edits = text_edit(facts.root, UNIT, text)
    edits += link_edit(facts.root, f"{UNITS}/multi-user.target.wants/hexapod.service", UNIT)
    if not edits:
        return right(f"as {facts.user}, with {facts.robot}")
    reason = f"{UNIT} is not there" if not present else f"{UNIT} has other paths or is not enabled"
    return wrong(f"{reason}: the robot does not start at power-on", *edits, commands=(DAEMON_RELOAD,))


def wifi_power(facts: SetupFacts) -> StepFinding:
    """Checks that Wi-Fi power saving is off; it would delay commands by up to a second."""
    if facts.root.is_running and not any(name.startswith("wl") for name in facts.root.names("/sys/class/net")):
        return not_needed("there is no Wi-Fi")
    reason = "the Wi-Fi sleeps between packets: commands come up to a second late"
    if facts.root.exists(NETWORK_MANAGER):
        if re.search(r"^\s*wifi\.powersave\s*=\s*2\s*$", facts.root.text(POWER_CONF), re.M):
            return right(POWER_CONF)
        edits = text_edit(facts.root, POWER_CONF, "[connection]\nwifi.powersave = 2\n")
        return wrong(reason, *edits, commands=(("nmcli", "general", "reload"),))
    if not facts.root.exists("/usr/sbin/iw"):
        return by_hand(f"{reason}; install iw and run this again: sudo apt install iw")
    edits = text_edit(facts.root, WIFI_RULES, WIFI_RULE)
    return wrong(reason, *edits, commands=(("udevadm", "control", "--reload"),)) if edits else right(WIFI_RULES)


def clock(facts: SetupFacts) -> StepFinding:
    """Checks that the clock is set from the network: a Pi has no clock that runs without power."""
    running = [name for name, link in CLOCKS.items() if facts.root.content(link)]
    if running:
        return right(", ".join(running))
    if not facts.root.exists(TIMESYNCD):
        return by_hand("nothing sets the clock after power-on: sudo apt install systemd-timesyncd")
    edits = link_edit(facts.root, CLOCKS["systemd-timesyncd"], TIMESYNCD)
    edits += link_edit(facts.root, f"{UNITS}/dbus-org.freedesktop.timesync1.service", TIMESYNCD)
    commands = (DAEMON_RELOAD, ("systemctl", "start", "systemd-timesyncd"))
    return wrong("nothing sets the clock after power-on", *edits, commands=commands)


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


def hotspot(facts: SetupFacts) -> StepFinding:
    """Checks the robot's own network, on which its page opens by itself: with --hotspot only."""
    if facts.hotspot is None:
        there = facts.root.exists(HOTSPOT)
        return right(HOTSPOT) if there else not_needed("--hotspot NAME makes a network of the robot's own")
    if not facts.root.exists(NETWORK_MANAGER):
        return by_hand("a hotspot needs NetworkManager: sudo apt install network-manager dnsmasq-base")
    if not facts.root.exists("/usr/sbin/dnsmasq"):
        return by_hand("a hotspot needs dnsmasq, for addresses and names: sudo apt install dnsmasq-base")
    plans = [facts.root.text(f"{_NETPLAN}/{name}") for name in facts.root.names(_NETPLAN)]
    if any(map(_NETPLAN_WIFI.search, plans)) and not any(map(_NETPLAN_MANAGER.search, plans)):
        return by_hand(
            f"{_NETPLAN} gives the Wi-Fi to systemd-networkd: write `renderer: NetworkManager` below `network:` there"
        )
    edits = text_edit(facts.root, HOTSPOT, facts.hotspot.text, mode=0o600)  # NetworkManager takes no other
    edits += text_edit(facts.root, HOTSPOT_NAMES, f"address=/#/{HOTSPOT_ADDRESS}\n")
    edits += text_edit(facts.root, LOW_PORTS, "net.ipv4.ip_unprivileged_port_start=80\n")
    unit = facts.root.text(UNIT)
    if "web_port:=" not in unit:
        edits += text_edit(facts.root, UNIT, unit.replace("web:=true", _PAGE_OF_SERVICE)) if unit else ()
    if not edits:
        return right(f"{facts.hotspot.name}, the page is at http://{HOTSPOT_ADDRESS}")
    reason = f"the robot has no network {facts.hotspot.name} on which its page, at port 80, opens by itself"
    commands = (("sysctl", "--system"), ("nmcli", "connection", "reload"), DAEMON_RELOAD)
    return wrong(reason, *edits, commands=commands)


STEPS = (
    SetupStep("groups", group_membership, NEXT_LOGIN),
    SetupStep("I2C", i2c_bus, NEXT_START),
    SetupStep("UART", uart, NEXT_START),
    SetupStep("console", serial_console, NEXT_START),
    SetupStep("udev rules", udev_rules),
    SetupStep("FTDI latency", ftdi_latency),
    SetupStep("service", robot_service, "sudo systemctl start hexapod"),
    SetupStep("Wi-Fi power", wifi_power, NEXT_START),
    SetupStep("clock", clock),
    SetupStep("hotspot", hotspot, NEXT_START),
)
