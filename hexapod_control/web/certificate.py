# SPDX-License-Identifier: Apache-2.0
"""A certificate with which the page is served by https on the robot's own network, made by the program openssl.

A small authority signs it, which every phone has to trust once. Its key is not kept, so it signs no others.
"""

from __future__ import annotations

import ipaddress
import ssl
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

# files of a folder
AUTHORITY = "hexapod_ca.crt"
CERTIFICATE = "page.crt"
KEY = "page.key"
DAYS = 820  # iOS accepts at most 825
MAX_RUN_S = 30.0
SETTINGS = """[req]
distinguished_name = subject
prompt = no
[subject]
CN = {title}
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[page]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = {names}
"""
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class CertificateError(RuntimeError):
    """A certificate cannot be made or used; the text says why."""


def create(folder: Path, names: Sequence[str]) -> None:
    """Writes AUTHORITY, CERTIFICATE and KEY for host names and addresses into a folder. Raises CertificateError."""
    with tempfile.TemporaryDirectory() as made:
        settings = Path(made, "settings")
        settings.write_text(
            SETTINGS.format(title=f"hexapod page of {names[0]}"[:60], names=", ".join(map(_entry, names)))
        )
        request = ("req", "-config", "settings", *NEW_KEY)
        days = ("-days", str(DAYS))
        _openssl(made, *request, "-x509", "-extensions", "authority", *days, "-keyout", "ca.key", "-out", AUTHORITY)
        _openssl(made, *request, "-keyout", KEY, "-out", "page.csr")
        signed = ("-CA", AUTHORITY, "-CAkey", "ca.key", "-CAcreateserial", *days, "-extfile", "settings")
        _openssl(made, "x509", "-req", "-in", "page.csr", *signed, "-extensions", "page", "-out", CERTIFICATE)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (AUTHORITY, CERTIFICATE, KEY):
                (folder / name).unlink(missing_ok=True)
                (folder / name).touch(mode=0o600 if name == KEY else 0o644)
                (folder / name).write_text(Path(made, name).read_text())
        except OSError as error:
            raise CertificateError(f"{folder}: {error.strerror}") from error


def context(folder: Path) -> ssl.SSLContext:
    """The settings of a server with the certificate of a folder. Raises CertificateError."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        found.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise CertificateError(f"{folder}: no usable certificate ({reason}); run hexapod web-cert") from error
    return found


def _entry(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"


def _openssl(folder: str, *words: str) -> None:
    try:
        done = subprocess.run(
            ["openssl", *words], cwd=folder, capture_output=True, text=True, timeout=MAX_RUN_S, check=False
        )
    except FileNotFoundError:
        raise CertificateError("the program openssl is missing: sudo apt install openssl") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CertificateError(f"openssl: {error}") from error
    if done.returncode:
        raise CertificateError(f"openssl: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
