#!/bin/sh
# lib/hexapod_control/<node> of an installation by pip: runs the node with the Python of the same prefix.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../bin/python3
[ -x "$python" ] || python=python3
exec "$python" -P -m hexapod_control.bringup.node_program "$(basename "$0")" "$@"
