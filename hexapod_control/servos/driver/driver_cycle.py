"""What the driver does in a cycle, without threads: setpoints out, reads in, torque, a port that comes and goes.

Nothing a bus does gets out of here: a port that goes is opened again, with the torque off until somebody arms. Rows
are joints (n, 3) [rad].
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import BoardSilent, Bus, BusError, PortGone, ServoFault
from hexapod_control.servos.driver.arming import Arming
from hexapod_control.servos.driver.bus_lease import BusLease, BusRequest, LeaseRegistry
from hexapod_control.servos.driver.command_limiter import MAX_STEP_S, CommandLimiter, Setpoints
from hexapod_control.servos.driver.fault_timers import BackOff
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_health import ServoHealth
from hexapod_control.servos.driver.snapshot_builder import SnapshotBuilder
from hexapod_control.servos.driver.telemetry import Diagnosis, Snapshot, TorqueState
from hexapod_control.servos.settings.servo_section import OnSilence, ServoSettings

ESTOP_LATCHED = "the emergency stop is latched: call estop with false, then reset_fault, then arm"
BUS_LENT = "a calibration is under way: finish or cancel it, then arm"
GOAL_CYCLES = 1.25  # cycles a goal takes: the next one comes before the servos stop, uneven as cycles are
READ_SHARE = 0.8  # share of a cycle after which no more transactions are begun


class DriverRequests(NamedTuple):
    """The newest targets."""

    target: Array
    velocity: Array | None
    arrival: float  # [s] steady time


class DriverCycle:
    """The servos of one robot, with or without a port; one thread calls everything."""

    def __init__(
        self,
        robot: Robot,
        settings: ServoSettings,
        setpoints: Setpoints,
        open_bus: Callable[[], Bus],
        assumed: Array,
        clock: Callable[[], float],
    ) -> None:
        """`assumed` (n, 3) [rad] is where servos that cannot tell are taken to be before they are armed."""
        self.settings, self.clock, self.setpoints = settings, clock, setpoints
        self.health = ServoHealth(settings)
        self.builder = SnapshotBuilder(settings)
        self.power = TorqueState.UNPLUGGED
        self.group: ServoGroup | None = None
        self.mail: DriverRequests | None = None
        self.snapshot = Snapshot()
        self.events: deque[Diagnosis] = deque(maxlen=64)  # what happened, to be said once
        self._open_bus = open_bus
        self._motion = CommandLimiter(robot)
        self._assumed = assumed
        self._back_off = BackOff()
        self._arming: Arming | None = None
        self._arm_request: BusRequest | None = None
        self.lending = LeaseRegistry()
        self._gone = "not connected yet"
        self._held_since: float | None = None
        self._last = clock()
        setpoints.disarm()

    @property
    def period(self) -> float:
        """Of a cycle [s]."""
        return 1.0 / (self.group.budget.rate if self.group else self.settings.rate)

    @property
    def absence(self) -> str:
        """Why there is no bus, or nothing."""
        return "" if self.group else f"the servos are not connected: {self._gone}"

    def cycle(self, requests: deque[BusRequest]) -> None:
        """One round: requests, setpoints, reads, a snapshot."""
        try:
            if self.group is None:
                self._reconnect()
            while requests:
                requests.popleft().serve()
            if self.group is not None:
                self._drive(self.group)
        except BoardSilent as error:
            with contextlib.suppress(PortGone):
                self.let_go(str(error))  # it may hear, though it says nothing
            self._lose(str(error))
        except PortGone as error:
            self._lose(str(error))
        except BusError as error:
            self._refuse(str(error))
        except Exception as error:  # a defect: the robot must not go on with it
            self._lose(f"the driver failed with {type(error).__name__}: {error}; report it")
        self._report()

    def _refuse(self, reason: str) -> None:
        """A bus that does not do what it is told: said, and no arming half done."""
        self._say("bus", reason)
        if self.power is TorqueState.ARMING:
            try:
                self.let_go(reason)
            except PortGone as error:
                self._lose(str(error))

    def _drive(self, group: ServoGroup) -> None:
        now = self.clock()
        dt, self._last = min(now - self._last, MAX_STEP_S), now
        self._read_mail(now)
        if self._arming is not None:
            self._go_on_arming(self._arming, now)
        elif self.power is TorqueState.ON:
            setpoint = self.setpoints.step(dt * self.health.speed_share)
            group.send(self._motion.step(setpoint, dt), self._motion.slack, GOAL_CYCLES * self.period)
        for index in group.poll(now + READ_SHARE * self.period):
            self._welcome(group, index)
        self._judge_all(group, self.clock())

    def _read_mail(self, now: float) -> None:
        mail, self.mail = self.mail, None
        if mail is not None and self.power is TorqueState.ON:
            complaint = self.setpoints.take(mail.target, mail.velocity, mail.arrival)
            if complaint:
                self._say("targets", complaint)
        sentence = self.setpoints.watch(now) if self.power is TorqueState.ON else ""
        if sentence:
            self._held_since = now
            self._say("silence", sentence)
        if not self.setpoints.holding:
            self._held_since = None
        patience = self.settings.silence_time
        silent = self._held_since is not None and now - self._held_since >= patience
        if silent and self.settings.on_silence is OnSilence.OFF and self.power is TorqueState.ON:
            self._say("silence", f"no joint_targets for {patience:g} s: torque off; call arm")
            self.let_go("")

    def _judge_all(self, group: ServoGroup, now: float) -> None:
        holds = self.power in (TorqueState.ON, TorqueState.ARMING)
        self.health.update(group, holds, now)
        for index, fault in enumerate(group.faults):
            if fault & ServoFault.OVERLOAD and holds and self.health.allow_restart(index, now):
                self._say("overload", f"{self.health.describe(group, [index])} was overloaded: started again")
                group.clear_fault(index)
        if holds and (self.health.brown_out or self.health.off):
            self.let_go(self.health.off or "the servos fell silent")

    def _welcome(self, group: ServoGroup, index: int) -> None:
        """A servo is there again: it begins where it is."""
        if self.power is TorqueState.ON:
            self._motion.rejoin(index, group.angle(index), self.setpoints.setpoint)
            group.stage(group.goals_in_place([index]))
            group.bus.torque([group.ids[index]], True)

    # --- torque -------------------------------------------------------------------------------------

    def begin_arming(self, request: BusRequest) -> None:
        """Switches the torque on where the joints are; the answer comes when it is on."""
        refusal = self._no_arming()
        if refusal or self.power is TorqueState.ON:
            request.finish(refusal)
            return
        assert self.group is not None
        if self._arm_request is not None:
            self._arm_request.finish("armed by another call")
        self._arm_request, self.power = request, TorqueState.ARMING
        self._arming = Arming(self.group, self._assumed)

    def _no_arming(self) -> str:
        if self.setpoints.latched:
            return ESTOP_LATCHED
        return self.absence or (BUS_LENT if self.lending.loan else self.health.off)

    def _go_on_arming(self, arming: Arming, now: float) -> None:
        arming.step(now)
        if arming.refusal:
            self._end_arming(arming.refusal)
            self.power = TorqueState.OFF
        elif arming.done:
            refusal = self.setpoints.arm(arming.row)
            if refusal:
                self.let_go(refusal)
                return
            self.mail = None
            self._motion.start(arming.row, self.setpoints.setpoint)
            self.power = TorqueState.ON
            self._end_arming("")

    def _end_arming(self, answer: str) -> None:
        self._arming = None
        if self._arm_request is not None:
            self._arm_request.finish(answer)
            self._arm_request = None

    def disarm(self, request: BusRequest) -> None:
        """Switches the torque off."""
        self.let_go("disarmed")
        request.finish()

    def let_go(self, reason: str) -> None:
        """Torque off, at once."""
        self.lending.take_back(reason)
        self.setpoints.disarm()
        self.mail, self._held_since, self.power = None, None, TorqueState.OFF if self.group else TorqueState.UNPLUGGED
        self._end_arming(reason)
        if self.group is not None:
            self.group.bus.relax()

    # --- the bus in other hands ---------------------------------------------------------------------

    def lend(self, ask: Callable[[BusRequest], str], request: BusRequest) -> BusLease | None:
        """Gives the bus away while the servos are let go; nobody arms meanwhile. The answer says why not."""
        holds = "" if self.power is TorqueState.OFF else "the servos hold: let the robot sit down, then call disarm"
        refusal = (
            self.absence
            or holds
            or (self.setpoints.latched and ESTOP_LATCHED)
            or (self.lending.loan and BUS_LENT)
            or ""
        )
        request.finish(refusal)
        return None if refusal or self.group is None else self.lending.lend(self.group.bus, ask)

    def adopt(self, settings: ServoSettings, request: BusRequest) -> None:
        """Other calibrations of the same servos, while these are let go. The answer says why not."""
        if self.power in (TorqueState.ON, TorqueState.ARMING):
            request.finish("the servos hold: restart the driver")
            return
        self.settings = settings
        if self.group is not None:
            self.group = ServoGroup(self.group.bus, settings, self.clock)
            if self.group.reads:
                self.group.read_all()
        request.finish()

    # --- the port -----------------------------------------------------------------------------------

    def connect(self) -> None:
        """Opens the bus and finds all servos; no torque is touched. Raises PortGone or BusError."""
        bus = self._open_bus()
        try:
            group = ServoGroup(bus, self.settings, self.clock)
            group.handshake()
            if group.reads:
                group.read_all()
        except BaseException:
            bus.close()
            raise
        self.group, self.power = group, TorqueState.OFF
        self._back_off.reset()
        self._report()

    def _lose(self, reason: str) -> None:
        group, self.group = self.group, None
        self._gone, self.power = reason, TorqueState.UNPLUGGED
        self.lending.take_back(reason)
        self.setpoints.disarm()
        self.mail = None
        self._end_arming(reason)
        if group is not None:
            group.bus.close()
        self._back_off.failed(self.clock())

    def _reconnect(self) -> None:
        if self.clock() < self._back_off.next:
            return
        try:
            self.connect()
        except (PortGone, BusError) as error:
            self._gone = str(error)
            self._back_off.failed(self.clock())
            return
        assert self.group is not None
        self.builder.reconnections += 1
        self.group.bus.relax()  # until somebody arms, whatever the servos did meanwhile
        self._say("port", f"{self.settings.port or self.settings.protocol} is back, torque is off: call arm")

    # --- words --------------------------------------------------------------------------------------

    def _say(self, kind: str, text: str) -> None:
        self.events.append(Diagnosis(kind, False, text))

    def _report(self) -> None:
        row = self._motion.command if self.power is TorqueState.ON else None
        self.snapshot = self.builder.snapshot(self.group, self.health, self.power, row, self._gone, self.clock())
