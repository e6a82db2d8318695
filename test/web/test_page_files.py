"""The page's files: everything that the page loads is served, and nothing else is shipped."""

import posixpath
import re

from hexapod_control.web.page_files import POLICY, pages

LINK = re.compile(r'(?:href|src)="([^"#:]+)"')
IMPORT = re.compile(r'(?:from|import\()\s*"(\./[^"]+|\.\./[^"]+)"')


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


def test_the_page_loads_these_files_and_no_others():
    files = pages()
    expected = {
        *("/index.html", "/style.css", "/icon.svg", "/main.js", "/connection.js", "/inputs.js", "/velocity.js"),
        *("/motion_panel.js", "/drawing/charts.js", "/drawing/projections.js", "/drawing/leg_geometry.js"),
        *("/drawing/scene3d.js", "/drawing/matrices.js", "/drawing/meshes.js", "/drawing/urdf.js"),
    }
    assert loaded("/index.html", files) == expected
    assert set(files) == expected | {"/"}


def test_the_page_needs_no_resource_that_its_security_policy_forbids():
    """Only scripts and styles of the server's own files are allowed: no inline ones, no other hosts."""
    html = pages()["/"].data.decode()
    assert "script-src 'self'; style-src 'self'" in POLICY
    assert "unsafe" not in POLICY
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


def test_scripts_are_sent_with_the_type_that_browsers_require_of_modules():
    assert {file.kind for path, file in pages().items() if path.endswith(".js")} == {"text/javascript"}
