#!/usr/bin/env bash
# Set up (the first time) and run every check: style, types, layers, tests.
# Usage: bash tools/test.sh [pytest arguments]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "tools/test.sh: python3 is $(python3 --version 2>&1); HopperSim needs Python 3.11 or newer" >&2
    exit 2
fi
if [ ! -x .venv/bin/python ]; then
    python3 -m venv .venv
fi
bin=.venv/bin
"$bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'

"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/mypy"
"$bin/lint-imports"
"$bin/python" -m pytest -n 2 "$@"
