#!/bin/sh
# lib/hexapod_control/<node> of an installation by pip: runs the node with the Python of the same prefix.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../bin/python3
[ -x "$python" ] || python=python3
node=$(basename "$0")
module=hexapod_control.nodes.$node.$node
case $node in *_process) module=hexapod_control.cli.robot.one_process ;; esac
exec "$python" -P -m "$module" "$@"
