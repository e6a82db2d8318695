#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# messages.sh VENV PACKAGE...   generates the types of packages, such as msgs/hexapod_msgs, for the ROS wheels of a virtual
# environment that has the extra `actions`, and installs them into it. Needs a C++ compiler. With an installation of ROS,
# colcon builds them.
set -euo pipefail
venv=$(realpath "$1")
shift
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
for package in "$@"; do
  made=$build/$(basename "$package")
  {
    cmake -S "$package" -B "$made" "${options[@]}" &&
      cmake --build "$made" --parallel 2 &&
      cmake --install "$made"
  } >"$build/output" 2>&1 || {
    tail -n 40 "$build/output" >&2
    exit 1
  }
done
