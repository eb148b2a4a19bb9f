#!/bin/sh
# Makes every run of this kit again, and compares it with kit.json. The first call builds the simulator.
cd "$(dirname "$0")" || exit 1
if [ -x shallows/shallows ]; then
    exec shallows/shallows check-kit . "$@"
fi
exec shallows check-kit . "$@"
