# SPDX-License-Identifier: Apache-2.0
"""The page's files: everything that the page loads is served, and nothing else is shipped."""

import json
import posixpath
import re

import pytest

from hexapod_control.core.robot import LIFT_RANGE
from hexapod_control.web.dialog_pages.request_server import PAGES
from hexapod_control.web.page_files import POLICY, SHARED, files, pages, with_shared

KEY = re.compile(r'\bt\("([a-z_]+)"')
MAX_SENT_BYTES = 120_000  # of the first screen in one language, compressed
DRAWING = ("/", "/lab.html")  # pages of the robot
COMMON = PAGES / "common"
ASKING = sorted(folder.name for folder in PAGES.iterdir() if folder != COMMON)
LINK = re.compile(r'(?:href|src)="([^"#:]+)"')
IMPORT = re.compile(r'(?:from|import\(|new URL\(|register\()\s*"(\./[^"]+|\.\./[^"]+)"')


def loaded(path, files):
    """Paths of a file and of all that it loads, directly or not."""
    found, pending = set(), [path]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        pattern = LINK if path.endswith(".html") else IMPORT if path.endswith(".js") else None
        names = pattern.findall(files[path].data.decode()) if pattern else []
        pending += [posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in names]
    return found


def test_the_page_loads_all_its_files_and_the_texts_of_one_language():
    files = pages()
    texts = {path for path in files if path.startswith("/texts/") and path.endswith(".json")}
    assert {"/texts/en.json", "/texts/de.json"} <= texts
    assert loaded("/index.html", files) | texts | {"/"} == set(files)


@pytest.mark.parametrize("opened", ["/lab.html", "/drawing/eye.js", "/drawing/video_player.js", "/controls/posing.js"])
def test_what_is_loaded_when_it_is_opened_is_no_part_of_the_first_screen(opened):
    files = pages()
    assert opened in loaded("/index.html", files)
    scripts = [file.data.decode() for path, file in files.items() if path.endswith(".js")]
    assert not any(re.search(rf'from "[./]+{opened}"', script) for script in scripts)


def test_the_first_screen_is_small():
    files = pages()
    nothing = files["/icon.svg"]
    later = {path for path in files if "/lab." in path} | {
        "/drawing/eye.js",
        "/drawing/video_player.js",
        "/controls/posing.js",
    }
    first = (loaded("/index.html", {**files, **dict.fromkeys(later, nothing)}) - later) | {"/texts/de.json"}
    assert sum(len(files[path].compressed) for path in first) < MAX_SENT_BYTES


def test_all_texts_of_the_page_are_in_the_table():
    """Every key that a file of the page uses by itself is a text, and the elements of the page contain no text."""
    files = pages()
    table = {key for path in ("/texts/en.json", "/texts/lab_en.json") for key in json.loads(files[path].data)}
    html = "".join(files[page].data.decode() for page in DRAWING)
    scripts = [file.data.decode() for path, file in files.items() if path.endswith(".js")]
    used = {key for script in scripts for key in KEY.findall(script)}
    used |= set(re.findall(r'data-(?:t|title|label)="([^"]+)"', html))
    assert used - table == set()
    bodies = re.findall(r"<body.*?</body>", html, re.DOTALL)
    body = re.sub(r"<(option|code)[^>]*>.*?</\1>", "", "".join(bodies))
    words = {word for text in re.findall(r">([^<]+)<", body) for word in re.findall(r"[A-Za-z]{2,}", text)}
    assert words <= {"hexapod", "STOP", "kg", "nbsp"}


@pytest.mark.parametrize("begin", ["", "lab_"])
def test_every_language_has_the_same_texts_with_the_same_values(begin):
    files = pages()
    english, german = (json.loads(files[f"/texts/{begin}{name}.json"].data) for name in ("en", "de"))
    assert english.keys() == german.keys()
    for key, text in english.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", german[key])), key


def test_the_slider_of_the_step_height_has_the_range_that_the_robot_accepts():
    page = pages()["/"].data.decode()
    bounds = re.search(r'id="lift" min="(\d+)" max="(\d+)"', page).groups()
    assert [int(bound) / 100 for bound in bounds] == list(LIFT_RANGE)


@pytest.mark.parametrize("page", DRAWING)
def test_a_page_needs_no_resource_that_its_security_policy_forbids(page):
    """Only scripts and styles of the server's own files are allowed: no inline ones, no other hosts."""
    html = pages()[page].data.decode()
    assert "script-src 'self'; style-src 'self'" in POLICY
    assert "unsafe" not in POLICY
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


@pytest.mark.parametrize("page", ASKING)
def test_a_dialog_page_loads_its_own_files_and_needs_nothing_that_is_forbidden(page):
    found = with_shared(COMMON, PAGES / page, {})
    used, own = loaded("/index.html", found), files(PAGES / page)
    assert {path for path in own if not path.startswith("/texts/")} <= used
    html = found["/"].data.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    assert sum(len(found[path].compressed) for path in used | own.keys()) < MAX_SENT_BYTES
    if "/texts/en.json" in own:
        scripts = [found[path].data.decode() for path in used if path.endswith(".js")]
        keys = {key for script in scripts for key in KEY.findall(script)}
        keys |= set(re.findall(r'data-(?:t|title|label)="([^"]+)"', html))
        assert keys <= json.loads(own["/texts/en.json"].data).keys()


def test_shared_files_of_dialog_pages_are_used_by_at_least_one():
    used = {path for page in ASKING for path in loaded("/index.html", with_shared(COMMON, PAGES / page, {}))}
    assert {*files(COMMON), *SHARED} <= used


def test_scripts_are_sent_with_the_type_that_browsers_require_of_modules():
    assert {file.kind for path, file in pages().items() if path.endswith(".js")} == {"text/javascript"}
