#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# page.sh   checks the types of the page's modules with tsc, and runs the unit tests of those without elements with node
set -euo pipefail
cd "$(dirname "$0")/../.."
tsc=(tsc)
command -v tsc > /dev/null || tsc=(npx --yes --package typescript@5.9.3 tsc)
"${tsc[@]}" --project test/web/static/tsconfig.json
node --test test/web/static/*.test.mjs
