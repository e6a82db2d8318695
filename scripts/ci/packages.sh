#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need from Debian or Ubuntu: as root, or with sudo in CI. Elsewhere `make test` names what is missing.
set -euo pipefail

PACKAGES=(g++ gcc iproute2 libegl1 libgl1-mesa-dri libopengl0 make python3-venv)

# Ubuntu has the browser only as a snap, which no container can install.
if ! grep -qs '^ID=ubuntu' /etc/os-release; then
  PACKAGES+=(chromium-headless-shell)
elif ! command -v chromium chromium-browser google-chrome chrome >/dev/null && command -v snap >/dev/null; then
  PACKAGES+=(chromium-browser)
fi

missing=()
for package in "${PACKAGES[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi
if [ "$(id -u)" = 0 ]; then
  as_root=(env)
elif [ -n "${CI:-}" ]; then
  as_root=(sudo)
else
  exit 0
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
