#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# workflows.sh   checks the workflows with actionlint, an installed one or that of its container
set -euo pipefail
cd "$(dirname "$0")/../.."
if command -v actionlint >/dev/null; then
  actionlint -color
else
  docker run --rm --volume "$PWD:/source:ro" --workdir /source rhysd/actionlint:1.7.12 -color
fi
