# SPDX-License-Identifier: Apache-2.0
"""The driver with a battery on an I2C sensor: warning, then sitting down."""

import pytest
from support.kits.recorded_servos import HIGH, SLACK, reported
from support.phantomx import robot
from support.real_time.servo_bench import ServoBench

from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.driver.telemetry import PlannerRequest
from hexapod_control.servos.emulator.chips.io_chips import EmulatedSupply, supply_chip
from hexapod_control.servos.i2c.supply_sensor import SupplySection, SupplySensor
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import Battery


class BatteryBench(ServoBench):
    """Servos on PCA9685 boards and an INA219 on one emulated bus."""

    def new_driver(self):
        row, kind = PROTOCOLS["pca9685"], self.settings
        battery = SupplySensor(SupplySection("ina219", 0x44), kind.port)
        return Driver(
            robot(), kind, lambda: row.open(row.connect(kind.port, kind.baud), kind.ids), self.start, battery=battery
        )


def test_a_battery_that_runs_low_on_a_sensor_is_warned_of_then_lets_the_robot_sit(tmp_path):
    limits = Battery(warn=10.5, critical=9.9, time=0.5)
    bench = BatteryBench(tmp_path, "pca9685", start=HIGH, connect=False, baud=400_000, battery=limits)
    supply = EmulatedSupply(11.1, 0.2)
    bench.device.wire.chips.append(supply_chip(SupplySection("ina219", 0x44), supply))
    bench.driver.connect()
    bench.driver.start()
    bench.arm()
    bench.until(lambda: bench.driver.snapshot.voltage is not None, 2.0, "voltage")
    assert bench.driver.snapshot.voltage == pytest.approx(11.1, abs=0.01)
    assert bench.driver.snapshot.current == pytest.approx(2.0)
    bench.device.wire.unplug(0x44)
    bench.until(lambda: reported(bench, "the battery is not measured: "), 1.0 + SLACK, "report")
    bench.device.wire.plug(0x44)
    supply.volts = 10.2
    bench.until(lambda: reported(bench, "charge it soon"), 3.0, "warning")
    assert bench.driver.snapshot.planner_request is PlannerRequest.NOTHING
    supply.volts = 9.0
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.SIT, 3.0, "sit")
    bench.close()
