#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The containers, on a machine with Docker; ROS_DISTRO chooses the distribution.
# containers.sh lint    hadolint on the Dockerfile; Docker reads the compose file
# containers.sh robot   builds the image of the robot for this machine and runs a command in it
# containers.sh walk    `docker compose up`: the page answers, and the robot reaches a waypoint
# containers.sh nav2    Nav2 walks the simulated robot to a goal
set -euo pipefail
cd "$(dirname "$0")/../.."

HADOLINT=hadolint/hadolint:v2.15.1
WALK_S=300 # time limit for the first waypoint

lint() {
  if command -v hadolint >/dev/null; then
    hadolint --config docker/hadolint.yaml docker/Dockerfile
  else
    docker run --rm --interactive --volume "$PWD/docker/hadolint.yaml:/.config/hadolint.yaml:ro" "$HADOLINT" \
      hadolint --config /.config/hadolint.yaml - <docker/Dockerfile
  fi
  docker compose --profile '*' config --quiet
}

robot() {
  docker compose build robot
  docker run --rm "hexapod_control:robot-${ROS_DISTRO:-jazzy}" hexapod check phantomx # its devices are not here
}

walk() {
  trap 'docker compose logs simulation; docker compose down' EXIT
  docker compose up --build --detach simulation
  timeout "$WALK_S" bash -c 'until docker compose logs simulation | grep -q "waypoint 1 of .* reached"; do sleep 2; done'
  curl --fail --silent --show-error --output /dev/null http://localhost:8770/
}

nav2() {
  docker compose build nav2
  docker compose run --rm nav2
}

case ${1:-} in
  lint | robot | walk | nav2) "$1" ;;
  *) echo "containers.sh: one of lint, robot, walk, nav2, is '${1:-}'" >&2; exit 2 ;;
esac
