# SPDX-License-Identifier: Apache-2.0
"""The page by https: certificates of `hexapod web-cert`, and a server that uses one."""

import ssl
import urllib.error
import urllib.request

import pytest

from hexapod_control.cli.main import main
from hexapod_control.web import certificate
from hexapod_control.web.certificate import AUTHORITY, CERTIFICATE, KEY, CertificateError, context
from hexapod_control.web.server import PageServer
from hexapod_control.web.sessions.access_control import HostPolicy
from hexapod_control.web.sessions.client_sessions import ClientSessions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls") / "made"
    assert main(["web-cert", "--folder", str(folder), "--name", "robot.example"]) == 0
    return folder


def test_a_client_that_trusts_the_authority_gets_page_and_authority_and_others_nothing(folder):
    sessions = ClientSessions(lambda *hello: "key", dict)
    server = PageServer(sessions, HostPolicy(["127.0.0.1"]), print, print, certificate=folder)
    server.start("127.0.0.1", 0)
    try:
        url = f"https://127.0.0.1:{server.port}/"
        trusting = ssl.create_default_context(cafile=folder / AUTHORITY)
        with urllib.request.urlopen(url, context=trusting, timeout=5.0) as page:
            assert b"<!doctype html>" in page.read()
        with urllib.request.urlopen(url + AUTHORITY, context=trusting, timeout=5.0) as authority:
            assert authority.headers["Content-Type"] == "application/x-x509-ca-cert"
            assert authority.read() == (folder / AUTHORITY).read_bytes()
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(url, context=ssl.create_default_context(), timeout=5.0)
        with pytest.raises(OSError):
            urllib.request.urlopen(url.replace("https", "http"), timeout=5.0)
    finally:
        server.close()


def test_the_key_is_for_the_owner_only_and_that_of_the_authority_is_not_kept(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted((AUTHORITY, CERTIFICATE, KEY))
    assert (folder / KEY).stat().st_mode & 0o077 == 0


def test_a_folder_without_a_certificate_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(CertificateError, match="run hexapod web-cert"):
        context(tmp_path)


def test_a_certificate_that_cannot_be_made_is_a_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["web-cert", "--folder", str(tmp_path / "made")]) == 1
    assert "openssl is missing: sudo apt install openssl" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    monkeypatch.undo()
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError):
        certificate.create(tmp_path / "file" / "below", ["localhost"])
