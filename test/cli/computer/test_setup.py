# SPDX-License-Identifier: Apache-2.0
"""`hexapod setup` on the root folder of an image: what it finds, changes, keeps and undoes."""

import configparser
from pathlib import Path

import pytest
from support.paths import ROOT

from hexapod_control.bringup.installation import system_root
from hexapod_control.bringup.installation.boot_files import PI_MODELS, settings
from hexapod_control.bringup.installation.system_root import SystemRoot
from hexapod_control.cli.main import main

# --- a freshly installed Ubuntu 24.04 on a Raspberry Pi 4 ---

CONFIG = """[all]
kernel=vmlinuz
cmdline=cmdline.txt
initramfs initrd.img followkernel

[pi4]
max_framebuffers=2
arm_boost=1

[all]
# These parameters must appear before any other dtoverlay.
dtparam=audio=on
dtparam=i2c_arm=on
dtparam=spi=on
disable_overscan=1
#hdmi_drive=2
dtoverlay=vc4-kms-v3d
disable_fw_kms_setup=1

# Config settings specific to arm64
arm_64bit=1
dtoverlay=dwc2

[cm4]
dtoverlay=dwc2,dr_mode=host
"""
CMDLINE = "console=serial0,115200 multipath=off dwc_otg.lpm_enable=0 console=tty1 root=LABEL=writable rootfstype=ext4\n"
FILES = {
    "etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n',
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nanna:x:1000:1000:,,,:/home/anna:/bin/bash\n",
    "etc/group": "root:x:0:\ndialout:x:20:bob\nplugdev:x:46:\nanna:x:1000:\n",
    "etc/gshadow": "root:*::\ndialout:*::bob\nplugdev:*::\nanna:!::\n",
    "boot/firmware/config.txt": CONFIG,
    "boot/firmware/cmdline.txt": CMDLINE,
    "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.5\0",
    "opt/ros/jazzy/setup.bash": "",
    "usr/sbin/iw": "",
    "usr/lib/systemd/system/systemd-timesyncd.service": "[Unit]\n",
    "home/anna/ws/install/setup.bash": "",
}


def make_image(folder: Path, robot: str = "freenove", **files: str) -> Path:
    """Writes the files below a folder, with the robot file of Anna; `files` replace some by the name without folder."""
    text = (ROOT / "config" / "robots" / f"{robot}.yaml").read_text(encoding="utf-8")
    for path, content in {**FILES, "home/anna/robot.yaml": text}.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(files.get(place.name.replace("-", "_").partition(".")[0], content), encoding="utf-8")
    return folder


def files_of(folder: Path) -> dict[str, tuple[str, int]]:
    """Text, or target of the link, and mode of every file below a folder."""
    return {
        str(path.relative_to(folder)): (str(path.readlink()), 0)
        if path.is_symlink()
        else (path.read_text(encoding="utf-8"), path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


UART = ("--yes", "--port", "/dev/ttyAMA0")  # bus servos wired to pins 8 and 10


@pytest.fixture
def image(tmp_path):
    return make_image(tmp_path)


@pytest.fixture
def uart_image(tmp_path):
    """An image of a robot without a section of servos yet."""
    return make_image(tmp_path, "big_hex")


def setup(image, *options):
    return main(["setup", "--root", str(image), "--user", "anna", *options])


def states(output):
    """State of each step as the table prints it."""
    rows = [line for line in output.splitlines() if line[:1].strip()]
    return {line[:13].strip(): line[14:25].strip() for line in rows[:10]}


def test_setup_changes_each_setting_once(image, capsys):
    assert setup(image, "--yes") == 0
    before = states(capsys.readouterr().out)
    assert {before[title] for title in ("groups", "I2C", "udev rules", "service", "Wi-Fi power", "clock")} == {"wrong"}
    changed = files_of(image)
    assert setup(image, "--yes") == 0
    assert set(states(capsys.readouterr().out).values()) == {"right", "not needed"}
    assert files_of(image) == changed


@pytest.mark.parametrize(
    ("robot", "options"), [("freenove", ["--yes"]), ("big_hex", UART), ("freenove", ["--yes", "--hotspot", "my robot"])]
)
def test_undo_restores_every_file_byte_for_byte(tmp_path, robot, options, capsys):
    folder = make_image(tmp_path, robot)
    (folder / "etc/gshadow").chmod(0o640)
    with_network_manager(folder)
    before = files_of(folder)
    assert setup(folder, *options) == 0
    assert files_of(folder) != before and (folder / "etc/gshadow").stat().st_mode & 0o777 == 0o640
    assert setup(folder, "--undo") == 0
    assert files_of(folder) == before


def test_a_command_of_the_system_that_fails_is_a_failure(image, monkeypatch, capsys):
    """The image stands for the running system, on which the commands are run; none of them exists here."""
    monkeypatch.setattr(SystemRoot, "is_running", True)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("subprocess.run", failing_run)
    assert setup(image, "--yes") == 1
    assert "failed with exit code 127: restart the computer instead" in capsys.readouterr().out


def failing_run(*words, **options):
    raise FileNotFoundError(words)


def test_a_dry_run_shows_the_lines_and_changes_nothing(image, capsys):
    before = files_of(image)
    assert setup(image, "--dry-run") == 1
    output = capsys.readouterr().out
    assert "+ dialout:x:20:bob,anna" in output and "+ dtparam=i2c_arm_baudrate=400000" in output
    assert files_of(image) == before


def test_only_confirmed_settings_are_changed(image, monkeypatch, capsys):
    answers = iter(["no", "y", "n", "", "no", "maybe"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    assert setup(image) == 1
    found = system_root.recorded(SystemRoot(image))
    assert {edit.path for edit in found} == {"/boot/firmware/config.txt", "/etc/modules-load.d/hexapod.conf"}


def test_without_a_terminal_nothing_is_changed(image, monkeypatch, capsys):
    def end(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    before = files_of(image)
    assert setup(image) == 1 and files_of(image) == before


def test_an_interruption_during_a_change_loses_nothing(image, monkeypatch, capsys):
    before = files_of(image)
    put = SystemRoot.put

    def interrupted(root, path, content, mode=0o644):
        if path == "/etc/gshadow":
            raise KeyboardInterrupt
        put(root, path, content, mode)

    with monkeypatch.context() as change:
        change.setattr(SystemRoot, "put", interrupted)
        assert setup(image, "--yes") == 130
    assert setup(image, "--undo") == 0 and files_of(image) == before
    assert setup(image, "--yes") == 0


def test_undo_keeps_later_changes(image, capsys):
    setup(image, "--yes")
    config, group = image / "boot/firmware/config.txt", image / "etc/group"
    config.write_text("# mine\n" + config.read_text() + "hdmi_group=1\n")
    group.write_text(group.read_text().replace("bob,anna", "bob,anna,carl"))
    capsys.readouterr()
    assert setup(image, "--undo") == 1
    assert config.read_text() == f"# mine\n{CONFIG}hdmi_group=1\n"
    assert "carl" in group.read_text() and "/etc/group: was changed since" in capsys.readouterr().out
    group.write_text(group.read_text().replace(",anna,carl", "").replace("i2c:x:999:anna\n", ""))
    assert setup(image, "--undo") == 0


def test_the_service_runs_as_the_user_with_the_workspace_and_the_robot_file(image, capsys):
    unit = image / "etc/systemd/system/hexapod.service"
    setup(image, "--yes")
    text = unit.read_text()
    assert "User=anna" in text and "source /home/anna/ws/install/setup.bash" in text
    assert "robot:=/home/anna/robot.yaml" in text and "/home/pi" not in text
    assert (image / "etc/systemd/system/multi-user.target.wants/hexapod.service").is_symlink()
    unit.write_text(text.replace("ROS_DOMAIN_ID=0", "ROS_DOMAIN_ID=7").replace("User=anna", "User=bob"))
    assert setup(image, "--yes") == 0
    assert unit.read_text() == text.replace("ROS_DOMAIN_ID=0", "ROS_DOMAIN_ID=7")


def with_network_manager(folder):
    for name in ("NetworkManager", "dnsmasq"):
        (folder / "usr/sbin").mkdir(exist_ok=True)
        (folder / "usr/sbin" / name).touch()


def test_the_robot_gets_a_network_of_its_own_on_which_its_page_opens_by_itself(image, capsys):
    with_network_manager(image)
    before = files_of(image)
    assert setup(image, "--dry-run", "--hotspot", "hex 1", "--password", "twelve_signs") == 1
    shown = capsys.readouterr().out
    assert files_of(image) == before
    lines = ("+ ssid=hex 1", "+ psk=twelve_signs", "+ address=/#/10.42.0.1", "+ net.ipv4.ip_unprivileged_port_start=80")
    assert all(line in shown for line in lines) and "$ nmcli connection reload" in shown
    assert setup(image, "--yes", "--hotspot", "hex 1") == 0
    found = files_of(image)
    text, mode = found["etc/NetworkManager/system-connections/hexapod-hotspot.nmconnection"]
    connection = configparser.ConfigParser()
    connection.read_string(text)
    assert mode & 0o777 == 0o600, "NetworkManager reads no other"
    assert connection["wifi"]["mode"] == "ap" and connection["wifi"]["ssid"] == "hex 1"
    assert connection["ipv4"]["method"] == "shared" and len(connection["wifi-security"]["psk"]) >= 8
    assert "web:=true web_lan:=true web_port:=80" in found["etc/systemd/system/hexapod.service"][0]
    assert setup(image, "--yes", "--hotspot", "hex 1") == 0
    assert setup(image, "--yes") == 0
    assert files_of(image) == found, "the password stays"


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        ("NetworkManager", "sudo apt install network-manager"),
        ("dnsmasq", "sudo apt install dnsmasq-base"),
        ("renderer", "write `renderer: NetworkManager`"),
    ],
)
def test_a_hotspot_that_cannot_be_is_refused_with_the_remedy(image, missing, remedy, capsys):
    with_network_manager(image)
    if missing == "renderer":
        (image / "etc/netplan").mkdir()
        (image / "etc/netplan/50-cloud-init.yaml").write_text("network:\n  wifis:\n    wlan0: {}\n")
    else:
        (image / "usr/sbin" / missing).unlink()
    assert setup(image, "--yes", "--hotspot", "hexapod") == 1
    output = capsys.readouterr().out
    assert states(output)["hotspot"] == "by hand" and remedy in output
    assert "etc/sysctl.d/99-hexapod.conf" not in files_of(image)


def test_the_servos_get_the_full_uart_without_a_console(uart_image, capsys):
    assert setup(uart_image, *UART) == 0
    text = (uart_image / "boot/firmware/config.txt").read_text()
    assert text.startswith(CONFIG)
    found = list(settings(text, "pi4"))
    assert ("enable_uart", "1") in found and ("dtoverlay", "disable-bt") in found
    cmdline = (uart_image / "boot/firmware/cmdline.txt").read_text()
    assert cmdline == CMDLINE.removeprefix("console=serial0,115200 ")


def test_a_pi_5_keeps_bluetooth_and_its_debug_console(uart_image, capsys):
    (uart_image / "proc/device-tree/model").write_text("Raspberry Pi 5 Model B Rev 1.0\0")
    assert setup(uart_image, *UART) == 0
    found = list(settings((uart_image / "boot/firmware/config.txt").read_text(), PI_MODELS["5"].section))
    assert ("dtparam=uart0", "on") in found and ("dtoverlay", "disable-bt") not in found
    assert (uart_image / "boot/firmware/cmdline.txt").read_text() == CMDLINE


def test_a_bno055_gets_a_slow_bus_where_the_pi_needs_it(image, capsys):
    robot = image / "home/anna/robot.yaml"
    robot.write_text(robot.read_text().replace("chip: mpu6050, address: 0x68", "chip: bno055"))
    for model, baud in (("4", 50_000), ("5", 400_000)):
        setup(image, "--dry-run", "--pi", model)
        assert f"+ dtparam=i2c_arm_baudrate={baud}" in capsys.readouterr().out


OTHERS = {
    "raspberry-pi-os": ('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n', "run the container"),
    "other-ubuntu": ('ID=ubuntu\nVERSION_ID="22.04"\n', "write its 64-bit image"),
    "arch": ("ID=arch\n", "sets up Ubuntu 24.04 only"),
}


@pytest.mark.parametrize("system", OTHERS)
def test_another_system_is_checked_but_not_changed_and_gets_instructions(tmp_path, system, capsys):
    release, remedy = OTHERS[system]
    make_image(tmp_path, os_release=release)
    if system == "raspberry-pi-os":
        (tmp_path / "etc/rpi-issue").touch()
    before = files_of(tmp_path)
    assert setup(tmp_path, "--yes") == 1
    assert remedy in capsys.readouterr().out and files_of(tmp_path) == before


def test_settings_that_the_program_cannot_change_have_a_remedy(image, capsys):
    for path in ("usr/sbin/iw", "home/anna/ws/install/setup.bash", "proc/device-tree/model"):
        (image / path).unlink()
    (image / "usr/lib/systemd/system/systemd-timesyncd.service").unlink()
    assert setup(image, "--yes") == 1
    output = capsys.readouterr().out
    by_hand = {title for title, state in states(output).items() if state == "by hand"}
    assert by_hand == {"I2C", "service", "Wi-Fi power", "clock"}
    remedies = ("name it with --pi", "build the workspace with colcon", "apt install iw", "install systemd-timesyncd")
    assert all(remedy in output for remedy in remedies)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--user", "nobody-here"], "--user: nobody-here, has no account"),
        (["--robot", "/home/anna/my robot.yaml"], "--robot: /home/anna/my robot.yaml, must be an absolute path"),
        (["--robot", "/home/anna/none.yaml"], "/home/anna/none.yaml, there is no such file, copy yours there"),
        (["--hotspot", "a;b"], "--hotspot: a;b, must be 1 to 32 letters"),
        (["--hotspot", "robot", "--password", "short"], "must be 8 to 63 signs"),
        (["--root", "/no/such/folder"], "--root: /no/such/folder: is not a folder"),
    ],
)
def test_bad_input_is_refused_in_one_line(image, options, words, capsys):
    assert setup(image, *options) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_the_robot_file_of_this_computer_may_be_named_from_the_present_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["setup", "--dry-run", "--robot", "my_robot.yaml"]) == 2
    assert f"--robot: {tmp_path}/my_robot.yaml, there is no such file" in capsys.readouterr().err


def test_links_stay_within_the_root(image, tmp_path_factory, capsys):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "group").write_text("dialout:x:20:\n")
    (image / "etc/group").rename(image / "etc/group.real")
    (image / "etc/group").symlink_to("/etc/group.real")
    (image / "etc/udev").mkdir()
    (image / "etc/udev/rules.d").symlink_to(outside)
    assert setup(image, "--yes") == 0
    assert (image / "etc/group").is_symlink() and "bob,anna" in (image / "etc/group.real").read_text()
    assert sorted(path.name for path in outside.iterdir()) == ["group"]
