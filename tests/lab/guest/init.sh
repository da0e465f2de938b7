#!/bin/sh
# The guest's first program: mounts what the lab's Python needs and hands over to it. `lab` and `out` are
# arguments of the kernel: the checkout's tests/lab and the folder of this boot's job, both on the host.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PYTHONPATH=/lab
mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /lab/tests/lab /lab/out
mount -t hostfs -o "$lab" none /lab/tests/lab
mount -t hostfs -o "$out" none /lab/out
exec /opt/table-controller/current/bin/python -B -m tests.lab.guest.boot </dev/console >/dev/console 2>&1
