#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lib/hexapod_control/<node>: runs the node with the Python of the same prefix, or else the one on the PATH.
# SIGINT waits until Python can handle it (node_program.py): Ctrl-C would end its start with a traceback.
python=${0%/*}/../../bin/python3
[ -x "$python" ] || python=python3
exec env --block-signal=INT "$python" -P -m hexapod_control.bringup.node_program "${0##*/}" "$@"
