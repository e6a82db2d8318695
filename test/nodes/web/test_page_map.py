# SPDX-License-Identifier: Apache-2.0
"""The map of the page in Chromium: a tapped place is walked to, places have names, a route is taught by driving."""

import math

import numpy as np
import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan
from support.real_time.web.page_checks import CUT, HIDDEN_ROBOT, PAGE_SIZE, SMALL
from support.real_time.web.scripted_robot import FINE

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp
from hexapod_control.core.steering.obstacle_avoidance import Scan
from hexapod_control.nodes.web.navigation_goal import STATUS
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

PERIOD_S = 0.05
PLANNER = FINE["gait_planner"][2]
NONE = np.zeros((6, 6))
SHOW = "document.querySelector('#pictures [data-picture=map]').click()"
GOAL = "document.querySelector('#goal').innerText.replaceAll('\\n', ' ')"
SPOT = """(() => {{ const box = document.querySelector('#map-canvas').getBoundingClientRect();
  const [x, y] = hexapod.map.at({point}); return [box.left + x, box.top + y]; }})()"""


class Ground:
    """Where the scripted robot walks: it follows its commands exactly; its lidar sees a pillar at (1, 0.8)."""

    def __init__(self, told):
        self.told, self.pose, self.ticks, self.count = told, Pose(0.0, 0.0, 0.0), 0, len(told.velocities)
        self.odom = told.bench.publisher(Odometry, "odom", 10, matched=0)
        self.scan = told.bench.publisher(LaserScan, "scan", 5, matched=0)
        self.timer = told.bench.probe.create_timer(PERIOD_S, self.tick)

    def tick(self):
        self.ticks += 1
        self.pose = self.pose @ exp(self.told.velocity, PERIOD_S)
        stamp = self.told.bench.probe.get_clock().now().to_msg()
        place = BodyPose(x=self.pose.x, y=self.pose.y, yaw=self.pose.yaw)
        still = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        self.odom.publish(messages.odometry_message(place, still, (NONE, NONE), ("odom", "base_footprint"), stamp))
        if self.ticks % 4 == 0:
            x, y = self.pose.inverse().apply(1.0, 0.8)
            ranges = np.full(180, np.inf)
            ranges[round((math.atan2(y, x) + np.pi) / np.pi * 90) % 180] = math.hypot(x, y)
            scan = Scan(ranges, -np.pi, np.pi / 90, 0.1, 6.0)
            self.scan.publish(messages.scan_message(scan, 0.1, stamp, "base_link"))

    def close(self):
        self.timer.cancel()
        self.told.bench.spin(2 * PERIOD_S)
        self.told.bench.probe.destroy_timer(self.timer)
        for publisher in (self.odom, self.scan):
            self.told.bench.probe.destroy_publisher(publisher)


@pytest.fixture
def ground(told):
    told.velocities.clear()
    ground = Ground(told)
    told.page.resize(390, 844, touch=True)
    told.page.js(SHOW)
    told.page.js("document.querySelector('[data-speed=\"1\"]').click()")
    told.until(lambda: told.page.js("hexapod.robot.status.speed") == 1.0)
    told.until(lambda: told.page.js("Math.hypot(...hexapod.map.robot) < 1e-9"), what="the page shows the place")
    yield ground
    told.page.click("#stop")
    told.page.js("hexapod.map.mark([]); document.querySelector('#pictures button').click()")
    told.page.js("document.querySelector('[data-speed=\"0.5\"]').click()")
    told.page.resize(1280, 720)
    ground.close()


def tap(page, x, y):
    page.touch("Start", finger=page.js(SPOT.format(point=[x, y])))
    page.touch("End")


def test_a_tapped_place_is_walked_to_and_the_arrival_is_said(told, ground):
    page = told.page
    told.until(lambda: page.js("hexapod.map.cells.size") >= 1, what="the pillar on the map")
    assert page.js(GOAL) == "Tap where the robot shall walk."
    tap(page, 0.3, 0.1)
    assert page.js(GOAL).startswith("0.3 m Walk there")
    page.click("#goal-walk")
    told.until(lambda: told.text("#sentence-text").startswith("Walking to ⚑: 0."), what="a sentence about the walk")
    told.until(lambda: page.js("hexapod.map.route.length") == 0, 30.0, "the end of the walk")
    told.until(lambda: told.text("#goal-text") == "Arrived at ⚑")
    assert math.dist(ground.pose[:2], (0.3, 0.1)) < 0.05
    told.until(lambda: told.velocity == ZERO)


@pytest.mark.parametrize("way", ["STOP", "a stick", "control is released"])
def test_a_person_ends_the_walk_at_any_time(told, ground, way):
    page = told.page
    tap(page, 1.2, -0.3)
    page.click("#goal-walk")
    told.until(lambda: told.velocity.vx > 0.0, what="the robot walks")
    if way == "STOP":
        page.click("#stop")
    elif way == "a stick":
        x, y = page.spot("#left")
        page.touch("Start", thumb=(x, y))
        page.touch("Move", thumb=(x, y - 40))
        told.until(lambda: page.js("hexapod.map.route.length") == 0, what="no route")
        page.touch("End")
    else:
        page.js("document.querySelector('#seat').click()")
    told.until(lambda: page.js("hexapod.map.route.length") == 0, what="no route")
    told.rest()
    told.until(lambda: "ended the walk to ⚑, " in page.js(GOAL), what="who has ended it, on the map")
    assert page.js(GOAL).endswith("Walk there Save ✕") and len(page.js("hexapod.map.draft")) == 1


@pytest.mark.parametrize("shown", ["map", "top"])
def test_whatever_ends_a_walk_is_said_until_the_person_acts_and_the_goal_can_be_walked_to_again(told, ground, shown):
    page = told.page
    tap(page, 1.2, -0.3)
    page.click("#goal-walk")
    told.until(lambda: told.velocity.vx > 0.0, what="the robot walks")
    page.js(f"document.querySelector('#pictures [data-picture={shown}]').click()")
    told.tell("carried", gait_planner=(1, "lifted", PLANNER))
    told.tell("fallen", gait_planner=(2, "fallen", PLANNER))
    told.until(lambda: page.js("hexapod.map.route.length") == 0, what="the end of the walk")
    ended = "before it. The robot has fallen"
    if shown == "top":
        told.until(lambda: ended in told.text("#banner-text"), what="the end, on another picture")
        page.js("hexapod.header.hint('something else'); document.querySelector('#banner-yes').click()")
        page.js(SHOW)
    told.tell()
    told.bench.spin(0.5)
    assert ended in page.js(GOAL) and page.js("hexapod.map.draft.length") == 1
    page.js("hexapod.connection.socket.close()")
    told.until(lambda: page.js("hexapod.connection.state") == "lost")
    told.until(lambda: page.js("hexapod.connection.state") == "open", what="the page is back")
    told.bench.spin(0.5)
    assert ended in page.js(GOAL)
    tap(page, 0.1, 0.1)
    assert ended not in page.js(GOAL) and "Walk there" in page.js(GOAL)


def test_a_walk_that_ends_because_a_node_is_silent_names_it(told, ground):
    page = told.page
    tap(page, 1.2, -0.3)
    page.click("#goal-walk")
    told.until(lambda: told.velocity.vx > 0.0, what="the robot walks")
    told.tell(inverse_kinematics=None)
    told.until(lambda: told.velocity == ZERO, what="the robot stands")
    told.until(lambda: "before it. inverse_kinematics " in page.js(GOAL), 12.0, "which node")
    told.tell()
    told.shows("Standing", "good", "Sit")
    page.click("#goal-drop")


def test_a_page_that_was_away_when_its_walk_ended_says_so_when_it_is_back(told, ground):
    page = told.page
    tap(page, 1.2, -0.3)
    page.click("#goal-walk")
    told.until(lambda: told.velocity.vx > 0.0, what="the robot walks")
    page.js("hexapod.connection.open = () => {}; hexapod.connection.socket.close()")
    told.until(lambda: told.velocity == ZERO, 3.0, "the robot stands")
    told.bench.spin(2.5)
    page.js("delete hexapod.connection.open; hexapod.connection.open()")
    told.until(lambda: page.js("hexapod.connection.state") == "open", 20.0, "the page is back")
    told.until(
        lambda: "the page that drove was closed, or its connection broke" in page.js(GOAL), what="why the walk ended"
    )
    page.click("#goal-drop")
    assert page.js(GOAL) == "Tap where the robot shall walk."


def test_the_goal_is_set_by_arrow_keys_and_enter_walks_there(told, ground):
    page = told.page
    page.js("document.querySelector('#map-canvas').focus()")
    page.press("ArrowUp")
    page.press("ArrowLeft")
    assert page.js("hexapod.map.draft") == [[pytest.approx(0.1, abs=0.01), pytest.approx(0.1, abs=0.01)]]
    assert told.velocity == ZERO, "the arrow keys of the map do not drive"
    page.press("Enter")
    told.until(lambda: told.text("#goal-text") == "Arrived at ⚑", 20.0)


def test_a_place_gets_a_name_is_chosen_by_a_tap_and_deleted_by_two(told, ground):
    page = told.page
    tap(page, 0.2, -0.2)
    page.click("#goal-save")
    assert page.js("document.querySelector('#goal-name').value") == "Place 1"
    page.js("document.querySelector('#goal-name').value = 'Door'")
    page.click("#goal-form button")
    told.until(lambda: page.js("hexapod.map.places.map(({name}) => name)") == ["Door"])
    tap(page, 0.22, -0.2)
    assert page.js(GOAL).startswith("Door 0.3 m Walk there") and "Save" not in page.js(GOAL)
    page.click("[data-sheet=routes]")
    page.click("[data-act=walk_route]")
    told.until(lambda: told.text("#goal-text") == "Arrived at Door", 30.0)
    page.click("[data-sheet=routes]")
    page.click("[data-act=record_delete]")
    page.click("[data-act=record_delete]")
    told.until(lambda: told.text("#route-list") == "No places yet: tap on the map, then Save.")
    page.click("[data-sheet=routes]")


def test_a_route_is_taught_by_driving_once_and_walked_back(told, ground):
    page = told.page
    page.click("[data-sheet=routes]")
    page.click("#teach")
    told.until(lambda: page.js("hexapod.robot.status.lesson") is not None, what="the lesson")
    x, y = page.spot("#left")
    page.touch("Start", thumb=(x, y))
    page.touch("Move", thumb=(x, y - 60))
    told.until(lambda: ground.pose.x > 0.25, 20.0, "the lesson")
    page.touch("End")
    told.rest()
    page.click("[data-sheet=routes]")
    told.until(lambda: told.text("#teach").startswith("■ End the route: 0."))
    page.click("#teach")
    told.until(lambda: page.js("!document.querySelector('#goal-form').hidden"), what="the name is asked")
    page.click("#goal-form button")
    told.until(lambda: page.js("hexapod.map.places.map(({name}) => name)") == ["Route 1"])
    page.click("[data-sheet=routes]")
    page.click("[data-act=walk_back]")
    told.until(lambda: told.text("#goal-text") == "Arrived at Route 1", 30.0)
    assert math.hypot(*ground.pose[:2]) < 0.06
    page.js("hexapod.connection.send('route', {act: 'delete', name: 'Route 1'})")
    told.until(lambda: page.js("hexapod.map.places") == [])


def test_a_drawn_path_is_walked_along(told, ground):
    page = told.page
    page.click("#map-draw")
    page.touch("Start", finger=page.js(SPOT.format(point=[0.0, 0.0])))
    for point in ([0.1, 0.0], [0.2, 0.0], [0.2, 0.1], [0.2, 0.2]):
        page.touch("Move", finger=page.js(SPOT.format(point=point)))
    page.touch("End")
    page.click("#map-draw")
    assert len(page.js("hexapod.map.draft")) >= 3
    page.click("#goal-walk")
    corner = []
    told.until(
        lambda: corner.append(math.dist(ground.pose[:2], (0.2, 0.0))) or told.text("#goal-text") == "Arrived at ⚑", 30.0
    )
    assert min(corner) < 0.08 and math.dist(ground.pose[:2], (0.2, 0.2)) < 0.05


class Navigator:
    """Plays Nav2: its topics and services are real, its way is a straight line."""

    def __init__(self, told, ground):
        probe = told.bench.probe
        self.told, self.ground, self.goal, self.count, self.state = told, ground, None, 0, 0
        self.states = told.bench.publisher(GoalStatusArray, STATUS, LATCHED)
        self.cmd_vel = told.bench.velocity_publisher()
        self.parts = (
            probe.create_subscription(PoseStamped, "goal_pose", self.take, 1),
            probe.create_service(CancelGoal, "navigate_to_pose/_action/cancel_goal", self.cancel),
            probe.create_timer(PERIOD_S, self.tick),
        )

    def take(self, pose):
        self.goal = pose.pose.position.x, pose.pose.position.y
        self.count += 1
        self.tell(GoalStatus.STATUS_EXECUTING)

    def cancel(self, request, response):
        self.tell(GoalStatus.STATUS_CANCELED)
        return response

    def tell(self, state):
        self.state = state
        status = GoalStatus(status=state)
        status.goal_info.goal_id.uuid = np.full(16, self.count, dtype=np.uint8)
        self.states.publish(GoalStatusArray(status_list=[status]))

    def tick(self):
        if self.state == GoalStatus.STATUS_EXECUTING:
            x, y = self.ground.pose.inverse().apply(*self.goal)
            if math.hypot(x, y) < 0.03:
                self.cmd_vel.publish(messages.twist_message(ZERO))
                self.tell(GoalStatus.STATUS_SUCCEEDED)
            else:
                self.cmd_vel.publish(
                    messages.twist_message(Twist(0.1 * x / math.hypot(x, y), 0.1 * y / math.hypot(x, y), 0.0))
                )

    def close(self):
        probe = self.told.bench.probe
        self.parts[2].cancel()
        self.told.bench.spin(2 * PERIOD_S)
        probe.destroy_subscription(self.parts[0])
        probe.destroy_service(self.parts[1])
        probe.destroy_timer(self.parts[2])
        probe.destroy_publisher(self.states)


def test_nav2_walks_to_the_goal_if_it_runs_and_stop_cancels_it(told, ground):
    page = told.page
    tap(page, 0.3, 0.1)
    assert page.js("document.querySelector('#goal-nav2').hidden")
    nav2 = Navigator(told, ground)
    told.until(lambda: not page.js("document.querySelector('#goal-nav2').hidden"), what="the button")
    assert page.js(PAGE_SIZE) == [390, 844] and page.js(SMALL) == []
    page.click("#goal-nav2")
    told.until(lambda: told.text("#sentence-text").startswith("Nav2 walks to ⚑: 0."), what="a sentence")
    told.until(lambda: told.text("#goal-text") == "Arrived at ⚑", 30.0)
    assert math.dist(ground.pose[:2], (0.3, 0.1)) < 0.05
    tap(page, -0.4, 0.1)
    page.click("#goal-nav2")
    told.until(lambda: nav2.state == GoalStatus.STATUS_EXECUTING)
    page.click("#stop")
    told.until(lambda: nav2.state == GoalStatus.STATUS_CANCELED, what="the goal is cancelled")
    told.until(lambda: page.js("hexapod.map.route.length") == 0)
    nav2.close()
    told.until(lambda: page.js("document.querySelector('#goal-nav2').hidden"), what="no button without Nav2")


@pytest.mark.parametrize(("width", "height"), [(320, 568), (390, 844), (844, 390), (820, 1180), (1280, 720)])
def test_the_map_and_its_buttons_fit_at_every_size(told, ground, width, height):
    page = told.page
    page.resize(width, height, touch=width < 1100)
    for point in ([], [[0.3, 0.3]]):
        page.js(f"hexapod.map.mark({point})")
        page.js("new Promise((done) => setTimeout(done, 60))")
        assert page.js(PAGE_SIZE) == [width, height]
        assert page.js(SMALL) == [] and page.js(CUT) == [] and page.js(HIDDEN_ROBOT) == []
