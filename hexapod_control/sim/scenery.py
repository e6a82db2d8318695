"""Appearance of the simulated world: sky, light and materials, without effect on the physics."""

from __future__ import annotations

import mujoco


def _texture(spec: mujoco.MjSpec, name: str, first: list[float], second: list[float], repeat: float) -> None:
    spec.add_texture(
        name=name,
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=first,
        rgb2=second,
        width=256,
        height=256,
    )
    material = spec.add_material(name=name, texrepeat=[repeat, repeat], texuniform=True, specular=0.1, shininess=0.2)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name


def add_scene(spec: mujoco.MjSpec, base: mujoco.MjsBody) -> None:
    """Adds a sky, a light that follows the robot, and the materials of the ground."""
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.97],
        rgb2=[0.72, 0.78, 0.84],
        width=64,
        height=384,
    )
    _texture(spec, "ground", [0.80, 0.82, 0.84], [0.71, 0.74, 0.77], 4.0)
    _texture(spec, "ramp", [0.78, 0.80, 0.78], [0.66, 0.71, 0.66], 5.0)
    spec.add_material(name="block", rgba=[0.70, 0.73, 0.76, 1.0], specular=0.1, shininess=0.2)
    base.add_light(
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM,
        pos=[0.55, 0.15, 1.6],
        dir=[-0.34, -0.09, -1.0],  # from the camera: hides the noisy corner of the shadow map
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.6, 0.6, 0.6],
        specular=[0.15, 0.15, 0.15],
        castshadow=True,
    )
    spec.stat.extent = 1.0  # scales znear, zfar and shadowclip
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = 1920, 1080
    visual.headlight.ambient = [0.42, 0.42, 0.42]
    visual.headlight.diffuse = [0.25, 0.25, 0.25]
    visual.headlight.specular = [0.0, 0.0, 0.0]
    visual.quality.shadowsize = 4096
    visual.map.znear = 0.02
    visual.map.zfar = 15.0
    visual.map.shadowclip = 0.7
