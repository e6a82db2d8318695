# SPDX-License-Identifier: Apache-2.0
"""The server of dialog pages: which requests it admits on a network, and that its port is free after its end."""

import http.client
import re
import time

import pytest
from support.real_time.web.page_attack import attack

from hexapod_control.web.dialog_pages.request_server import KEY, RequestServer

INVITATION = re.compile(r"one person: (http://(\S+)/#(\S+))")


async def reply(request):
    return {"act": request["act"]}


def post(host, word):
    """The status of a request, and the key for further ones."""
    connection = http.client.HTTPConnection(host, timeout=5.0)
    headers = {"Origin": f"http://{host}", "Authorization": f"Bearer {word}"}
    connection.request("POST", "/request", '{"act": "show"}', headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, response.headers.get(KEY)


@pytest.mark.waits
def test_on_a_network_each_invitation_admits_one_person_who_keeps_a_key(capsys):
    with RequestServer(reply, "first", lan=True).in_background(0, "a hint"):
        printed = capsys.readouterr().out
        _, host, token = INVITATION.search(printed).groups()
        assert printed.endswith("a hint\n")
        status, key = post(host, token)
        assert (status, post(host, key)[0], post(host, token)[0]) == (200, 200, 401)
        _, host, second = INVITATION.search(capsys.readouterr().out).groups()
        assert second != token and post(host, second)[0] == 200


@pytest.mark.waits
def test_a_dialog_page_replies_within_a_second_beside_attackers_that_come_back(capsys, caplog):
    with RequestServer(reply, "first", lan=True).in_background(0, ""):
        _, host, word = INVITATION.search(capsys.readouterr().out).groups()
        with attack(int(host.rpartition(":")[2])):
            for _ in range(5):
                start = time.monotonic()
                status, word = post(host, word)
                assert status == 200 and time.monotonic() - start < 1.0
    assert caplog.records == []
