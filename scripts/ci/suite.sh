#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite.sh [TARGET]   a target of the Makefile (default: test) on the ROS 2 that ROS_DISTRO names, else on ROS wheels
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/ci/underlay.bash
make "${1:-test}"
