# SPDX-License-Identifier: Apache-2.0
"""The makers' own SDKs run their calls against the emulated servos as against real ones, in memory."""

import dynamixel_sdk
import pytest
import scservo_sdk

from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS

DONE, IDS = (0, 0), (1, 2, 3)


class SdkPort:
    """A port of an SDK with emulated servos at its other end: what does not come at once does not come."""

    is_using = False
    tx_time_per_byte = 0.01

    def __init__(self, protocol):
        self.world = LagWorld(PROTOCOLS[protocol].scale, len(IDS))
        self.device = emulated_device(protocol, self.world, IDS)
        self.now, self.inbox = 0.0, b""

    def run(self, seconds):
        self.now += seconds
        self.world.step(self.now)

    def clearPort(self):  # noqa: N802
        self.inbox = b""

    def writePort(self, packet):  # noqa: N802
        self.inbox += b"".join(reply for _, reply in self.device.receive(bytes(packet), self.now))
        return len(packet)

    def readPort(self, count):  # noqa: N802
        data, self.inbox = self.inbox[:count], self.inbox[count:]
        return list(data)

    def setPacketTimeout(self, length):  # noqa: N802
        pass

    def setPacketTimeoutMillis(self, milliseconds):  # noqa: N802
        pass

    def isPacketTimeout(self):  # noqa: N802
        return not self.inbox


def test_the_dynamixel_sdk_controls_ax_servos():
    port, sdk = SdkPort("dynamixel1"), dynamixel_sdk.PacketHandler(1.0)
    assert sdk.ping(port, 1) == (12, *DONE)
    assert sdk.write2ByteTxRx(port, 1, 30, 600) == DONE
    port.run(1.0)
    assert sdk.read2ByteTxRx(port, 1, 36) == (600, *DONE) and sdk.read1ByteTxRx(port, 1, 24) == (1, *DONE)
    assert sdk.write2ByteTxRx(port, 1, 8, 550) == DONE and sdk.write2ByteTxRx(port, 1, 30, 600) == (0, 0x02)
    assert sdk.write2ByteTxRx(port, 1, 36, 600) == (0, 0x08)
    assert sdk.regWriteTxRx(port, 2, 30, 2, [88, 2]) == DONE and sdk.action(port, 0xFE) == 0
    assert port.world.target(1) == 600
    group = dynamixel_sdk.GroupSyncWrite(port, sdk, 30, 2)
    assert all(group.addParam(servo, [0, 2]) for servo in (2, 3)) and group.txPacket() == 0
    assert port.world.target(1) == port.world.target(2) == 512
    assert sdk.factoryReset(port, 1) == DONE and sdk.read2ByteTxRx(port, 1, 8) == (1023, *DONE)


def test_the_dynamixel_sdk_controls_x_servos():
    port, sdk = SdkPort("dynamixel2"), dynamixel_sdk.PacketHandler(2.0)
    assert sdk.ping(port, 1) == (1060, *DONE)
    assert sdk.write1ByteTxRx(port, 1, 64, 1) == sdk.write4ByteTxRx(port, 1, 116, 2100) == DONE
    port.run(1.0)
    assert sdk.read4ByteTxRx(port, 1, 132) == (2100, *DONE)
    errors = [sdk.write4ByteTxRx(port, 1, a, v)[1] for a, v in ((48, 100), (132, 0), (116, 5000), (112, 40000))]
    assert errors == [7, 7, 6, 4] and sdk.write2ByteTxRx(port, 1, 116, 0) == (0, 5)
    assert sdk.regWriteTxRx(port, 2, 116, 4, [8, 7, 0, 0]) == DONE and sdk.action(port, 0xFE) == 0
    assert port.world.target(1) == 1800
    assert sdk.clearMultiTurn(port, 3) == sdk.reboot(port, 3) == sdk.factoryReset(port, 3, 2) == DONE


@pytest.mark.parametrize("fast", [False, True])
def test_the_dynamixel_sdk_reads_and_writes_several_x_servos(fast):
    port, sdk = SdkPort("dynamixel2"), dynamixel_sdk.PacketHandler(2.0)
    sync = dynamixel_sdk.GroupSyncRead(port, sdk, 132, 4)
    assert all(sync.addParam(servo) for servo in IDS)
    assert (sync.fastSyncRead if fast else sync.txRxPacket)() == 0
    assert [sync.getData(servo, 132, 4) for servo in IDS] == [2048] * 3
    written = dynamixel_sdk.GroupBulkWrite(port, sdk)
    assert written.addParam(2, 65, 1, [1]) and written.addParam(3, 116, 4, [0, 7, 0, 0]) and written.txPacket() == 0
    bulk = dynamixel_sdk.GroupBulkRead(port, sdk)
    assert bulk.addParam(2, 65, 1) and bulk.addParam(3, 116, 4)
    assert (bulk.fastBulkRead if fast else bulk.txRxPacket)() == 0
    assert (bulk.getData(2, 65, 1), bulk.getData(3, 116, 4)) == (1, 0x700)


def test_the_feetech_sdk_controls_st_servos():
    port = SdkPort("feetech_st")
    sdk = scservo_sdk.sms_sts(port)
    assert sdk.ping(1) == (777, *DONE)
    assert sdk.write1ByteTxRx(1, 40, 1) == sdk.WritePosEx(1, 2100, 2400, 50) == DONE
    port.run(0.01)
    assert sdk.ReadMoving(1) == (1, *DONE) and sdk.ReadSpeed(1)[0] > 0
    port.run(1.0)
    assert sdk.ReadPosSpeed(1) == (2100, 0, *DONE)
    assert sdk.unLockEprom(1) == sdk.write1ByteTxRx(1, 5, 9) == sdk.LockEprom(9) == DONE
    assert sdk.ping(9) == (777, *DONE) and sdk.ping(1)[1] != 0
    assert sdk.RegWritePosEx(9, 2000, 1000, 50) == DONE
    sdk.RegAction()
    assert port.world.target(0) == 2000
    assert sdk.WheelMode(9) == sdk.WriteSpec(9, -500, 50) == DONE
    port.run(10.0)
    assert sdk.ReadPos(9)[0] < -2000


def test_the_feetech_sdk_controls_sc_servos():
    port = SdkPort("feetech_sc")
    sdk = scservo_sdk.scscl(port)
    assert sdk.ping(1)[1:] == DONE and sdk.write1ByteTxRx(1, 40, 1) == sdk.WritePos(1, 600, 500, 0) == DONE
    port.run(0.25)
    assert 530 < sdk.ReadPos(1)[0] < 580
    port.run(1.0)
    assert sdk.ReadPos(1) == (600, *DONE)
    assert sdk.unLockEprom(1) == sdk.LockEprom(1) == DONE
