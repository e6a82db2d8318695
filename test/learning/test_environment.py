# SPDX-License-Identifier: Apache-2.0
"""`Hexapod-v0`: the rules of Gymnasium, the same episode from the same seed, rewards, falls, and refusals in words."""

import builtins
import importlib
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from support.drives import standing_planner
from support.paths import ROOT

import hexapod_control.learning
from hexapod_control.config.policy_file import Layer, Policy, save
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.motions.policy import PolicyBody, Sensed, observation_parts
from hexapod_control.learning.environment import WEIGHTS, HexapodEnv

AHEAD = {"command": (0.1, 0.0, 0.0)}
PAGE = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")


def made(robot="phantomx", **options):
    return gymnasium.make("Hexapod-v0", robot=robot, **options).unwrapped


def episode(env, seed, steps=25):
    """The observations (steps + 1, m) and rewards (steps,) of random actions."""
    first, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    shape = env.action_space.shape
    rows = [env.step(rng.uniform(-0.3, 0.3, shape).astype(np.float32)) for _ in range(steps)]
    return np.array([first, *(row[0] for row in rows)]), np.array([row[1] for row in rows])


def part(observation, name, legs=6):
    begin = 0
    for each in observation_parts(legs):
        if each.name == name:
            return observation[begin : begin + each.size]
        begin += each.size
    raise KeyError(name)


@pytest.mark.physics
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{}, {"world": "bumps", "reality": "typical"}])
def test_the_environment_keeps_the_rules_of_gymnasium(options):
    check_env(made(**options), skip_render_check=True)


@pytest.mark.physics
@pytest.mark.parametrize("options", [{}, {"world": "blocks", "reality": "worn"}])
def test_the_same_seed_and_actions_give_the_same_episode(options):
    env = made(**options)
    first = episode(env, 3)
    episode(env, 4)
    for again in (episode(env, 3), episode(made(**options), 3)):
        assert all((mine == its).all() for mine, its in zip(again, first, strict=True))
    assert (episode(env, 5)[0] != first[0]).any()


def test_every_episode_has_another_ground_and_robot_unless_their_seeds_are_given():
    drawn = made(world="blocks", reality="typical")
    infos = [drawn.reset(seed=seed)[1] for seed in (1, None)]
    assert len({info["seed"] for info in infos}) == len({info["reality_seed"] for info in infos}) == 2
    zeros = drawn.simulation.reality.zero_offset.copy()
    fixed = made(world="blocks", reality="typical", seed=7, reality_seed=infos[1]["reality_seed"])
    assert {fixed.reset()[1]["seed"] for _ in range(2)} == {7}
    assert (fixed.simulation.reality.zero_offset == zeros).all()


@pytest.mark.physics
@pytest.mark.parametrize("name", ["phantomx", "octopod", "quadruped"])
def test_a_robot_of_any_file_stands_with_the_action_0_and_moves_between_the_limits_of_its_joints(name):
    env = made(name)
    robot = load(name).robot
    legs = len(robot.legs)
    observation, info = env.reset(seed=0)
    still = np.zeros(3 * legs, dtype=np.float32)
    for _ in range(20):
        observation, _, fell, _, _ = env.step(still)
    assert not fell
    assert np.abs(part(observation, "joints", legs)).max() < 0.1
    assert part(observation, "gravity", legs) == pytest.approx([0.0, 0.0, -1.0], abs=0.02)
    assert part(observation, "foot loads", legs).sum() == pytest.approx(1.0, abs=0.1)
    assert part(observation, "command", legs) == pytest.approx(info["command"] / env.top_speed, abs=1e-6)
    limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot.legs])
    for sign, side in ((-1.0, 0), (1.0, 1)):
        assert env.body.targets(np.full(3 * legs, sign), np.zeros(3), 0.02) == pytest.approx(limits[:, :, side])


@pytest.mark.physics
def test_the_terms_of_the_reward_are_reported_and_sum_up_with_their_weights():
    env = made(weights={"change": -2.0})
    env.reset(seed=1, options=AHEAD)
    _, reward, _, _, info = env.step(np.full(18, 0.5, dtype=np.float32))
    terms = info["terms"]
    assert terms["change"] == pytest.approx(0.25)
    weights = {**WEIGHTS, "change": -2.0}
    assert reward == pytest.approx(sum(weights[name] * value for name, value in terms.items()))
    env.reset(options={"command": (0.0, 0.0, 0.0)})
    for _ in range(10):
        standing = env.step(np.zeros(18, dtype=np.float32))[4]["terms"]
    assert standing["velocity"] > 0.99 and standing["turning"] > 0.99


@pytest.mark.physics
def test_a_robot_on_its_belly_or_back_has_fallen_and_an_episode_is_truncated_in_time():
    env = made(episode=0.4)
    env.reset(seed=0)
    lifted = env.body.targets(np.zeros(18), np.zeros(3), 0.02).copy()
    lifted[:, 1] += 1.2  # legs off the ground
    ends = []
    for _ in range(20):
        env.simulation.step(lifted, 0.02)
        ends.append(env.step(np.zeros(18, dtype=np.float32))[2:5])
    assert any(fell and info["terms"]["fall"] == 1.0 for fell, _, info in ends)
    assert [ended for _, ended, _ in ends] == [False] * 19 + [True]
    env.reset()
    env.simulation.data.qpos[2:7] = 0.3, 0.0, 1.0, 0.0, 0.0
    assert env.step(np.zeros(18, dtype=np.float32))[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"world": "moon"}, "world must be one of flat"),
        ({"robot": "nobody"}, "nobody: is not a known robot"),
        ({"period": 1.0}, "period must be in"),
        ({"episode": float("nan")}, "episode must be in"),
        ({"blok_height": 0.04}, "blok_height is none of the settings: world, seed"),
        ({"weights": {"speed": 1.0}}, "speed is none of the weights: velocity"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(options, words):
    with pytest.raises(Exception, match=words):
        HexapodEnv(**options)


def test_a_wrong_command_or_action_is_refused_in_one_sentence():
    env = made()
    for command in ((9.0, 0.0, 0.0), (0.1, 0.0), (float("nan"), 0.0, 0.0)):
        with pytest.raises(ValueError, match=r"command must be \(vx, vy, wz\) within the top speed"):
            env.reset(options={"command": command})
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action must be 18 finite numbers"):
        env.step(np.full(18, np.nan, dtype=np.float32))


def test_without_gymnasium_the_import_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *rest):
        if name == "gymnasium":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=f"gymnasium is missing: {sys.executable} -m pip install gymnasium"):
        importlib.reload(hexapod_control.learning)


def test_the_tables_of_the_page_are_those_of_the_code():
    for each in observation_parts(6, "walk"):
        if each.name == "last action":
            continue
        size = {3: "3", 18: "3n", 6: "n"}[each.size]
        limits = f"{each.low:g} ... {each.high:g}"
        assert f"| {each.name} | {size} | {each.unit} | {limits} |" in PAGE, each.name
    for name, weight in WEIGHTS.items():
        assert f"| `{name}` | {weight:g} |" in PAGE, name


@pytest.mark.physics
def test_a_walk_with_the_action_0_is_that_of_the_package_and_residuals_move_feet():
    env = made(level="walk")
    ways = {}
    for name, row in (("blind", (0, 0, 0, 0)), ("low", (0, 0, 0, -1)), ("high", (0, 0, 1, 0))):
        env.reset(seed=0, options=AHEAD)
        heights = [env.simulation.data.qpos[2]]
        tops = []
        for _ in range(150):
            env.step(np.tile(np.float32(row), 6))
            heights.append(env.simulation.data.qpos[2])
            tops.append(env.simulation.data.xpos[list(env.simulation.world.feet), 2].max())
        ways[name] = env.simulation.data.qpos[0], heights[-1], max(tops)
    assert ways["blind"][0] == pytest.approx(0.3, abs=0.03)
    assert ways["low"][1] > ways["blind"][1] + 0.03  # feet lower: the body is higher
    assert ways["high"][2] > ways["blind"][2] + 0.02


@pytest.mark.physics
@pytest.mark.parametrize("level", ["joints", "walk"])
def test_an_exported_policy_moves_the_same_joints_in_the_environment_and_behind_the_planner(tmp_path, level):
    env = made(level=level)
    rng = np.random.default_rng(1)
    size = env.action_space.shape[0]
    layers = [Layer(rng.normal(0.0, 0.003, (size, env.observation_space.shape[0])), np.zeros(size))]
    save(tmp_path / "a.onnx", layers, env.description)
    robot = env.simulation.robot
    policy = Policy(tmp_path / "a.onnx", robot)
    observation, info = env.reset(seed=2, options=AHEAD)
    expected = []
    for _ in range(100):
        observation = env.step(policy.act(observation))[0]
        expected.append(env.simulation.joints.copy())
    simulation, body, planner = made(level=level).simulation, PolicyBody(robot, level), standing_planner("phantomx")
    simulation.reset(body.standing)
    for joints in expected:
        imu, sim = simulation.inertial(), simulation
        sensed = Sensed(imu.orientation, imu.angular_velocity, sim.joints, sim.joint_velocity, sim.sensed_foot_forces())
        action = policy.act(body.observation(sensed, info["command"]))
        assert planner.follow_joints(body.targets(action, info["command"], 0.02)) is None
        simulation.step(planner.step(0.02).joint_angles, 0.02)
        assert np.abs(simulation.joints - joints).max() < 1e-6
