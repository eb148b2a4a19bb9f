#!/bin/sh
# Installs the built wheel into a fresh virtual environment in an empty directory, and runs its commands there.
# usage: tools/try_wheel.sh [WHEEL]; without a wheel the newest one of dist/.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
wheel=${1:-$(ls -t "$root"/dist/shallows-*.whl | head -n 1)}
wheel=$(CDPATH='' cd -- "$(dirname -- "$wheel")" && pwd -P)/$(basename -- "$wheel")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$root/tools/uv" venv --quiet --seed --python "${PYTHON:-3.11}" env
"$root/tools/uv" pip install --quiet --python env/bin/python "$wheel"
unset PYTHONPATH
shallows() {
    printf '%s\n' "--- shallows $*"
    env/bin/shallows "$@" >log 2>&1 || { cat log; echo "failed: shallows $*"; exit 1; }
    tail -n 2 log
}
shallows --version
shallows list papers
shallows copy xdctcp
cp "$(env/bin/python -c 'from shallows.document.places import experiments_path; print(experiments_path())')/quickstart.toml" .
shallows run quickstart.toml
shallows compare quickstart.toml --vary queue.mark_at=20pkt,65pkt --seeds 2
shallows new cc gentle
shallows run gentle.toml
shallows reproduce xdctcp --quick
shallows reproduce ./xdctcp/bound --quick
shallows bench dumbbell-8
echo "the wheel works: $(basename "$wheel")"
