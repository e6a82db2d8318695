#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates the types of msgs/hexapod_msgs for the ROS wheels of a virtual environment that has the extra `actions`, and
# installs them into it: messages.sh VENV. Needs a C++ compiler. With an installation of ROS, colcon builds them.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
venv=$(realpath "$1")
python=$venv/bin/python
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

query='import sys, sysconfig, numpy; print(sysconfig.get_path("include"), numpy.get_include(), sysconfig.get_config_var("LIBDIR"))'
read -r include numpy libraries < <("$python" -c "$query")
# The wheels name folders of the computer on which they were built.
sed -Ei "s#/opt/python/[^\";]*/include/python3[^\";/]*#$include#g; s#/opt/python/[^\";]*/numpy/_?core/include#$numpy#g" \
  "$venv"/share/*/cmake/*.cmake

export PATH=$venv/bin:$PATH AMENT_PREFIX_PATH=$venv CMAKE_PREFIX_PATH=$venv LD_LIBRARY_PATH=$libraries
options=(-DCMAKE_INSTALL_PREFIX="$venv" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -Wno-dev)
options+=(-DPython3_EXECUTABLE="$python" -DPython3_ROOT_DIR="$venv" -DPython3_FIND_VIRTUALENV=ONLY)
{
  cmake -S "$here/msgs/hexapod_msgs" -B "$build" "${options[@]}" &&
    cmake --build "$build" --parallel 2 &&
    cmake --install "$build"
} >"$build/output" 2>&1 || {
  tail -n 40 "$build/output" >&2
  exit 1
}
