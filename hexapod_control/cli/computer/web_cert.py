# SPDX-License-Identifier: Apache-2.0
"""`hexapod web-cert`: makes a certificate, with which the page is served by https."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.web import certificate, page_address

FOLDER = "~/.local/state/hexapod_control/certificate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--folder", default=FOLDER, metavar="DIR", help=f"where it is written (default: {FOLDER})")
    parser.add_argument(
        "--name", action="append", default=[], help="one more name or address of this computer; may be repeated"
    )


def run(args: argparse.Namespace) -> int:
    """Writes the certificate and prints what to do with it. Returns 0, or 1 if it cannot be made."""
    names = dict.fromkeys((*args.name, *page_address.names(page_address.ALL_ADDRESSES), "localhost", "127.0.0.1"))
    folder = Path(args.folder).expanduser()
    try:
        certificate.create(folder, [name for name in names if "%" not in name])
    except certificate.CertificateError as error:
        print(f"hexapod web-cert: {error}", file=sys.stderr)
        return FAILED
    print(f"certificate for {', '.join(names)}, valid for {certificate.DAYS} days: {folder}")
    print(f"1. start the page with it: hexapod robot my_robot.yaml web:=true web_lan:=true web_certificate:={folder}")
    print(f"2. on each phone open the address of the page with /{certificate.AUTHORITY} behind the port, once,")
    print("   and install the file as a certificate authority in the settings of the phone")
    print("3. open the page, and choose Add to Home screen in the menu of the browser")
    return DONE
