# SPDX-License-Identifier: Apache-2.0
"""H.264 of the camera: as good as it says, less than half of JPEG, and readable from every key frame."""

import importlib.util
import io
import sys

import av
import numpy as np
import pytest
from PIL import Image

from hexapod_control.web import video
from hexapod_control.web.video import KEY_PERIOD, QUANTIZER, STEP, VideoEncoder, VideoError

QUALITY = 80  # of the camera's JPEG, as in simulation
# Of H.264: a step of the quantizer is 0.625 at 0 and doubles every 6; one sixth of it is rounded up, the rest down.
QUANTIZER_STEP = 0.625 * 2.0 ** (QUANTIZER / 6.0)
LARGEST_NOISE = ((5.0 / 6.0) ** 3 + (1.0 / 6.0) ** 3) / 3.0 * QUANTIZER_STEP**2


def jpeg(image, quality=QUALITY, **options):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality, **options)
    return file.getvalue()


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def noise(a, b):
    """Mean square of the difference of two images."""
    return float(np.mean((np.asarray(a, float) - np.asarray(b, float)) ** 2))


def brightness(image):
    return np.asarray(Image.fromarray(image).convert("L"))


def scene(seed, size, count, sensor_noise):
    """Images of a camera that pans over a ground with details of all sizes."""
    rng = np.random.default_rng(seed)
    width, height = size
    ground = np.zeros((height + 64, width + 64, 3))
    for cell in (4, 8, 16, 32, 64):
        coarse = rng.integers(0, 256, (-(-(height + 64) // cell), -(-(width + 64) // cell), 3), np.uint8)
        whole = Image.fromarray(coarse).resize((width + 64, height + 64), Image.Resampling.BICUBIC)
        ground += np.asarray(whole, float) * cell / 124.0
    places = np.cumsum(rng.uniform(0.0, 2.5, (count, 2)), axis=0)
    found = []
    for x, y in places:
        moved = Image.fromarray(ground.clip(0, 255).astype(np.uint8)).transform(
            size, Image.Transform.AFFINE, (1, 0, x, 0, 1, y), Image.Resampling.BILINEAR
        )
        found.append((np.asarray(moved, float) + rng.normal(0, sensor_noise, (height, width, 3))).clip(0, 255))
    return [image.astype(np.uint8) for image in found]


def decoded(fragments):
    """The images of a file of fragments, as a player that begins with the first of them shows them."""
    file = io.BytesIO(fragments[0].header + b"".join(each.data for each in fragments))
    with av.open(file) as container:
        return list(container.decode(video=0))


def encode(images, encoder=None, keys=()):
    encoder = encoder or VideoEncoder()
    return [encoder.encode(image, "jpeg", key=k in keys) for k, image in enumerate(images)]


@pytest.mark.parametrize(("size", "sensor_noise"), [((320, 240), 0.0), ((480, 320), 3.0)], ids=["plain", "noisy"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_video_is_at_most_half_of_jpeg_of_the_same_quality_and_adds_no_more_noise_than_its_quantizer(
    seed, size, sensor_noise
):
    images = scene(seed, size, 12, sensor_noise)
    sources = [jpeg(image) for image in images]
    fragments = encode(sources)
    shown = [frame.to_ndarray(format="rgb24") for frame in decoded(fragments)]
    assert len(shown) == len(images)
    for source, image in zip(sources, shown, strict=True):
        assert noise(brightness(image), brightness(pixels(source))) < LARGEST_NOISE
    got = np.mean([noise(a, b) for a, b in zip(shown, images, strict=True)])
    for quality in range(QUALITY, 5, -1):  # the best JPEG that is no better than the video
        same = [jpeg(image, quality) for image in images]
        if np.mean([noise(pixels(a), b) for a, b in zip(same, images, strict=True)]) >= got:
            break
    assert quality > 10
    assert sum(len(each.data) for each in fragments) <= 0.5 * sum(map(len, same))


def test_a_player_can_begin_with_any_key_frame_and_one_comes_when_asked_for_and_in_time():
    images = [jpeg(image) for image in scene(3, (64, 48), KEY_PERIOD + 10, 0.0)]
    fragments = encode(images, keys=(7,))
    keys = [k for k, fragment in enumerate(fragments) if fragment.key]
    assert keys == [0, 7, 7 + KEY_PERIOD]
    whole = [frame.to_ndarray(format="gray") for frame in decoded(fragments)]
    for key in keys:
        rest = decoded(fragments[key:])
        assert [frame.pts for frame in rest] == [k * STEP for k in range(key, len(images))]
        assert all(np.array_equal(a.to_ndarray(format="gray"), b) for a, b in zip(rest, whole[key:], strict=True))


def test_another_size_of_the_images_begins_another_video():
    encoder = VideoEncoder()
    small, large = (encode([jpeg(image) for image in scene(4, size, 3, 0.0)], encoder) for size in ((64, 48), (96, 64)))
    assert [each.key for each in (*small, *large)] == 2 * [True, False, False]
    assert small[0].header != large[0].header
    assert [(frame.width, frame.height) for frame in decoded(large)] == 3 * [(96, 64)]


COLORS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (128, 90, 40)]


@pytest.mark.parametrize("kind", ["jpeg", "4:2:2", "4:4:4", "mono", "png"])
def test_colours_of_all_kinds_of_images_stay_what_they_are(kind):
    encoder = VideoEncoder()
    for color in COLORS:
        image = np.full((48, 64, 3), color, np.uint8)
        if kind == "mono":
            image = image[..., 0]
        if kind == "png":
            file = io.BytesIO()
            Image.fromarray(image).save(file, "PNG")
            fragment = encoder.encode(file.getvalue(), "png", key=True)
        else:
            sampling = {"4:2:2": 1, "4:4:4": 0}.get(kind, 2)
            options = {} if kind == "mono" else {"subsampling": sampling}
            fragment = encoder.encode(jpeg(image, 95, **options), "jpeg", key=True)
        expected = image if kind != "mono" else np.repeat(image[..., None], 3, axis=2)
        (frame,) = decoded([fragment])
        assert np.abs(frame.to_ndarray(format="rgb24").astype(int) - expected).max() <= QUANTIZER_STEP


def test_what_is_no_image_of_an_even_size_is_refused_and_the_next_image_is_encoded():
    encoder = VideoEncoder()
    good = jpeg(scene(5, (64, 48), 1, 0.0)[0])
    encoder.encode(good, "jpeg", key=False)
    odd = jpeg(scene(5, (65, 48), 1, 0.0)[0])
    for data, kind in ((b"", "jpeg"), (b"noise", "jpeg"), (good[:200], "jpeg"), (good, "png"), (odd, "jpeg")):
        with pytest.raises(VideoError, match="cannot be encoded"):
            encoder.encode(data, kind, key=False)
        assert not encoder.encode(good, "jpeg", key=False).key


def test_without_pyav_there_is_no_video(monkeypatch):
    assert video.can_encode()
    monkeypatch.setitem(sys.modules, "av", None)
    spec = importlib.util.spec_from_file_location("video_without_pyav", video.__file__)
    bare = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, bare)
    spec.loader.exec_module(bare)
    assert not bare.can_encode()
