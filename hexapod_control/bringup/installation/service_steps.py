"""Set-up steps for services: start of the robot at power-on, Wi-Fi, clock."""

from __future__ import annotations

import re

from hexapod_control.bringup.installation.change_record import link_edit, text_edit
from hexapod_control.bringup.installation.setup_facts import SetupFacts, StepFinding, by_hand, not_needed, right, wrong
from hexapod_control.config.shipped_files import share

UNITS = "/etc/systemd/system"
UNIT = f"{UNITS}/hexapod.service"
NETWORK_MANAGER, POWER_CONF = "/usr/sbin/NetworkManager", "/etc/NetworkManager/conf.d/99-hexapod.conf"
WIFI_RULES = "/etc/udev/rules.d/98-hexapod-wifi.rules"
WIFI_RULE = 'ACTION=="add", SUBSYSTEM=="net", KERNEL=="wl*", RUN+="/usr/sbin/iw dev %k set power_save off"\n'
TIMESYNCD = "/usr/lib/systemd/system/systemd-timesyncd.service"
CLOCKS = {  # links of the time synchronisation services
    "systemd-timesyncd": f"{UNITS}/sysinit.target.wants/systemd-timesyncd.service",
    "chrony": f"{UNITS}/multi-user.target.wants/chrony.service",
    "ntpsec": f"{UNITS}/multi-user.target.wants/ntpsec.service",
}
DAEMON_RELOAD = ("systemctl", "daemon-reload")


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
