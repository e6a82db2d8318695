# SPDX-License-Identifier: Apache-2.0
"""`hexapod first --page` over an emulated kit: the program in a thread of the test, and its page."""

import threading

from support.kits.first_user import FirstEvening
from support.phantomx import LEGS, robot

from hexapod_control.cli.commissioning.first_page import FirstPage
from hexapod_control.cli.commissioning.page_dialog import PageDialog
from hexapod_control.config.sentence import TEXTS, Sentence
from hexapod_control.web.dialog_pages.request_server import RequestServer

BOUND_S = 20.0


class PagedEvening:
    """The program behind the page, in a thread; `killed` ends it at its next move."""

    def __init__(self, kit, path, capsys, only):
        self.kit, self.killed, self.dialog = kit, False, PageDialog(robot())
        self.evening = FirstEvening(kit, path, only=only, dialog=self.dialog, sleep=self._sleep)
        self.page = FirstPage(path.name, LEGS, self.dialog, self.evening.machine)
        self.serving = RequestServer(self.page.reply, "first", said=TEXTS).in_background(0, "")
        self.serving.__enter__()
        self.url = capsys.readouterr().out.split("the page: ")[1].split()[0]
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _sleep(self, seconds):
        if self.killed:
            raise KeyboardInterrupt
        self.dialog.sleep(0.0)

    def _run(self):
        try:
            self.evening.run()
            self.page.end(Sentence("robot_walks", "The robot walks."))
        except KeyboardInterrupt:
            self.kit.world.torques[:] = False  # as at a power cut

    def end(self):
        self.thread.join(BOUND_S)
        self.serving.__exit__(None, None, None)
