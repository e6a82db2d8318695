# SPDX-License-Identifier: Apache-2.0
"""`hexapod start`: a page on which a robot is chosen and started; nothing has to be configured before."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from pathlib import Path

from hexapod_control.cli.robot.robot_gallery import RobotGallery
from hexapod_control.cli.robot.start_page import StartPage
from hexapod_control.config.bounded_yaml import MAX_FILE_BYTES
from hexapod_control.config.errors import DONE
from hexapod_control.config.sentence import TEXTS
from hexapod_control.web.dialog_pages.request_server import PORT, RequestServer

MAX_REQUEST_BYTES = 2 * MAX_FILE_BYTES + 10_000  # a robot file as JSON text, where characters are escaped
HINT = "Ctrl-C ends it, and what was started from it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--lan", action="store_true", help="open the pages to the network, with QR codes for phones")
    parser.add_argument(
        "--folder",
        type=_folder,
        default=".",
        metavar="DIR",
        help="where your own robot files are, and new ones are written (default: here)",
    )


def _folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no such folder")
    return path.absolute()


def run(args: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C. Raises OSError if no port can be opened."""
    page = StartPage(RobotGallery(Path(args.folder).absolute()), lan=args.lan)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(page, args.lan))
    return DONE


async def _serve(page: StartPage, lan: bool) -> None:
    try:
        await RequestServer(page.reply, "start", said=TEXTS, lan=lan, max_bytes=MAX_REQUEST_BYTES).serve(PORT, HINT)
    finally:
        await page.end()
