#!/usr/bin/env bash
# Install, upgrade, roll back and uninstall the controller on a table's own machine; `make install` and its
# like call this. Every release has a folder of its own and `current` names the one that runs.
set -euo pipefail
umask 022 # root's own may shut the service out of its program, or let a group write it

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=${DESTDIR:-}
prefix=/opt/table-controller
home=$root$prefix
unit=table.service
python=${PYTHON:-python3}
table=${TABLE:-}
extras=${EXTRAS:-}
wheelhouse=${WHEELHOUSE:-}
keep=3
steady_s=25 # longer than the unit's WatchdogSec: a thread that hangs from the start is found out
patience_s=60

say() { echo "install: $*" >&2; }
refuse() {
	say "$*"
	exit 2
}
live() { [ -z "$root" ] && [ -d /run/systemd/system ]; }
release_of() { readlink "$home/$1" 2>/dev/null || true; }

# A file system may put a name on the disk half a minute before what it names: a power cut between would leave
# files of no bytes under a name that says they are whole. So what is written goes to the disk before its name.
to_disk() { # FOLDER: all that was written on its file system
	sync -f "$1"
}

switch_to() { # NAME LINK: the link names another release at one stroke, or still the old one
	to_disk "$home"
	ln -sfn "$1" "$home/$2.new"
	mv -T "$home/$2.new" "$home/$2"
	to_disk "$home" # before the release runs: what it writes may be too new for the one before
}

lay() { # FOLDER FILE...: each is there as it was or as it becomes, whenever the power goes
	local folder=$1 file name
	shift
	mkdir -p "$folder"
	for file; do
		name=$folder/${file##*/}
		install -m 0644 "$file" "$name.new"
		sync "$name.new"
		mv -T "$name.new" "$name"
	done
}

check_machine() {
	[ -z "$root" ] || mkdir -p "$root"
	[ -w "${root:-/opt}" ] || refuse "found no leave to write ${root:-/opt}, expected root; sudo make install"
	"$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info)' 2>/dev/null ||
		refuse "found no Python 3.11 or newer with venv as $python; apt install python3-venv, or PYTHON=..."
	[ -z "$wheelhouse" ] || [ -d "$wheelhouse" ] ||
		refuse "found no folder $wheelhouse, expected WHEELHOUSE with what \`make wheelhouse\` laid there"
	local there
	there=$(table_file)
	[ -z "$there" ] || [ -r "$there" ] || refuse "found no $there; correct TABLE="
}

# The table's file that counts: the one in /etc/table, else the sample that TABLE names.
table_file() {
	if [ -e "$root/etc/table/table.yaml" ]; then
		echo "$root/etc/table/table.yaml"
	elif [ -n "$table" ]; then
		case $table in
		*/* | *.yaml) echo "$table" ;;
		*) echo "$here/config/tables/$table.yaml" ;;
		esac
	fi
}

wanted_extras() {
	echo "${extras:-$("$python" "$here/systemd/closure.py" --extras-of "$(table_file)")}"
}

name_release() { # version and what it is made of: the same sources and extras give the same name
	local version digest
	version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/pyproject.toml" | head -n 1)
	digest=$(cd "$here" && {
		wanted_extras
		find controller drivers config pyproject.toml requirements-table.lock \
			-type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -c -12)
	echo "$version-$digest"
}

pip_into() { # VENV ARGUMENTS
	local venv=$1
	shift
	local from=()
	[ -z "$wheelhouse" ] || from=(--no-index --find-links "$(cd "$wheelhouse" && pwd)")
	"$venv/bin/python" -m pip -qq --disable-pip-version-check --no-input install "${from[@]}" "$@"
}

own_wheel() { # FOLDER: the project's wheel, of this checkout, made with pinned tools
	"$python" -m venv "$1/tools"
	pip_into "$1/tools" --require-hashes --requirement "$here/requirements.lock"
	"$1/tools/bin/python" -m pip -qq --disable-pip-version-check wheel --no-deps --no-build-isolation \
		--wheel-dir "$1" "$here"
	compgen -G "$1/table_controller-*.whl"
}

is_ours() { # FOLDER: whoever owns a file of a program can change what the service runs
	[ -z "$(find "$1" ! -user "$(id -u)" -print -quit)" ]
}

# Folders may stand there already: of an earlier install, or made by somebody whose own they must not stay.
take_folders() {
	local folder
	for folder in "$home" "$home/releases" "$root/etc/table" "$root/etc/table/samples"; do
		[ ! -L "$folder" ] || is_ours "$folder" ||
			refuse "found a symbolic link $folder of another user, expected a folder; move it away"
		mkdir -p "$folder"
		[ "$(id -u)" -ne 0 ] || chown root:root "$folder"
		chmod 0755 "$folder"
	done
}

make_release() { # NAME: nothing there counts as a release until its last file is written
	local release=$home/releases/$1 work wanted wheel
	if [ -e "$release/complete" ] && is_ours "$release"; then return 0; fi
	rm -rf "$release"
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$work'" EXIT
	"$python" -m venv "$release"
	wanted=$(wanted_extras)
	"$python" "$here/systemd/closure.py" --lock "$here/requirements-table.lock" \
		--project "$here/pyproject.toml" --extras "$wanted" >"$work/wanted.txt"
	pip_into "$release" --require-hashes --requirement "$work/wanted.txt"
	wheel=$(own_wheel "$work")
	pip_into "$release" --no-deps --no-index "$wheel"
	"$release/bin/python" -m pip -qq --disable-pip-version-check check >&2
	mkdir -p "$release/docs"
	cp -R "$here/docs/." "$here/CHANGELOG.md" "$release/docs/"
	if [ -n "$root" ]; then # it will stand elsewhere: its scripts must name that place
		grep -rIlZ "^#!$release/" "$release/bin" | xargs -0 --no-run-if-empty sed -i "1s|^#!$root|#!|"
	fi
	to_disk "$release"
	echo "$wanted" >"$release/complete"
	rm -rf "$work"
	trap - EXIT
}

# Python runs a compiled copy without looking at its source. Those of our own are made here, of what was verified.
forget_compiled() { # RELEASE
	find "$1"/lib/python3*/site-packages/{controller,drivers} -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
}
compile_release() { # RELEASE
	local packages strip=()
	[ -z "$root" ] || strip=(-s "$root")
	for packages in "$1"/lib/python3*/site-packages; do
		[ -d "$packages/controller" ] || continue
		"$1/bin/python" -m compileall -q "${strip[@]}" "$packages/controller" "$packages/drivers" >&2
	done
}

# Where this machine trusts a release key, nothing is switched to that the key did not sign, file by file. The
# release that runs looks at the new one where it can: a program that somebody changed says of itself what he likes.
verify_release() { # RELEASE
	local release=$1 trusted=$root/etc/table/release.pub by
	rm -f "$release/release.json"
	[ ! -e "$here/release.json" ] || install -m 0644 "$here/release.json" "$release/release.json"
	[ -e "$trusted" ] || [ -L "$trusted" ] || return 0 # a link that leads nowhere is no machine without a key
	by=$home/current/bin/python
	"$by" -c 'import controller.cli.release' 2>/dev/null || by=$release/bin/python
	"$by" -B -X pycache_prefix=/proc/none -c 'from controller.cli.main import main; raise SystemExit(main())' \
		release verify --key "$trusted" --of "$release" >&2 ||
		refuse "found a release that no key of $trusted signed, or files that it did not (above); nothing was changed"
}

lay_system_files() { # of this checkout, or of a release that kept its own
	local units=$1
	lay "$root/etc/systemd/system" "$units"/*.service
	lay "$root/etc/udev/rules.d" "$units"/udev/*.rules
	lay "$root/usr/lib/sysusers.d" "$units/sysusers.d/table.conf"
	lay "$root/usr/lib/tmpfiles.d" "$units/tmpfiles.d/table.conf"
	lay "$root/etc/modules-load.d" "$units/modules-load.d/table.conf"
	lay "$root/etc/systemd/journald.conf.d" "$units/journald.conf.d/table.conf"
	lay "$root/etc/systemd/system.conf.d" "$units/system.conf.d/table-watchdog.conf"
	mkdir -p "$root/usr/local/bin"
	ln -sfn "$prefix/current/bin/tablectl" "$root/usr/local/bin/tablectl"
}

lay_configuration() {
	lay "$root/etc/table/samples" "$here"/config/tables/*.yaml
	local mine=$root/etc/table/table.yaml file
	file=$(table_file)
	if [ ! -e "$mine" ] && [ -n "$file" ]; then
		grep -v '^# yaml-language-server:' "$file" >"$mine.new"
		chmod 0644 "$mine.new"
		sync "$mine.new"
		mv "$mine.new" "$mine"
		say "$mine is a copy of $file: measure the table and name its devices"
	fi
}

tell_system() { # users, folders, rules and modules now, not at the next boot only
	systemd-sysusers table.conf
	systemd-tmpfiles --create table.conf || true # it also tells of folders that are as they should be not
	systemctl daemon-reload
	systemctl try-restart systemd-journald.service
	udevadm control --reload 2>/dev/null || true
	udevadm trigger --subsystem-match=tty --subsystem-match=usb-serial --subsystem-match=gpio 2>/dev/null || true
	systemctl restart systemd-modules-load.service ||
		say "a driver of serial ports is not in this kernel: systemctl status systemd-modules-load"
}

# The table's signing key, sealed to this machine; once, and never replaced. It is never on a disk in the clear:
# where sealing fails there is no key, and the next install makes one.
make_key() {
	local sealed=$root/etc/table/credentials/table-key
	rm -f "$sealed.new" # of an install that was cut off
	[ ! -e "$sealed" ] || return 0
	if [ -e "$root/var/lib/table/journal.db" ]; then
		say "found a journal in /var/lib/table and no $sealed: the journal's own key is needed there"
		say "systemd-creds encrypt --name=table-key FILE $sealed puts it there"
		return 0
	fi
	# shellcheck disable=SC2064 # the file of now
	trap "rm -f '$sealed.new'" EXIT
	trap 'exit 1' TERM INT HUP # once what runs has ended, so that it writes nothing behind this one's back
	if ! "$home/current/bin/python" -m controller.journal.keys |
		(umask 077 && systemd-creds encrypt --name=table-key - "$sealed.new") ||
		grep -qs "PRIVATE KEY" "$sealed.new" || # it says that it sealed: what it wrote is looked at, and opened
		! systemd-creds decrypt --name=table-key "$sealed.new" - | grep -c "PRIVATE KEY" >/dev/null; then
		rm -f "$sealed.new"
		refuse "systemd-creds could not seal the table's key (its words are above): no key was kept; put that" \
			"right and run make install again, or name a key file of its own in the unit (docs/installing.md)"
	fi
	sync "$sealed.new" # a journal that this key signed could not be continued without it
	mv "$sealed.new" "$sealed"
	sync -f "$sealed"
	trap - EXIT TERM INT HUP
	say "made the table's key, sealed to this machine: keep a copy in a safe: systemd-creds decrypt $sealed FILE"
}

start_or_not() { # a start counts when the controller has said READY=1; systemctl waits for that
	systemctl reset-failed $unit 2>/dev/null || true
	systemctl restart $unit
}

how_it_stands() { # nothing where no controller answers
	"$home/current/bin/tablectl" status --json 2>/dev/null || true
}

stands() { # BEFORE: ready is not enough: it stays so, answers, and stands no worse than the release before
	local began=$SECONDS worse
	while :; do
		sleep 1
		if [ "$(systemctl show $unit --property NRestarts --value)" != 0 ]; then
			say "it was ready, and fell"
			return 1
		fi
		worse=$("$python" "$here/systemd/standing.py" "$1" "$(how_it_stands)")
		if [ $((SECONDS - began)) -ge $steady_s ] && [ -z "$worse" ]; then return 0; fi
		if [ $((SECONDS - began)) -ge $patience_s ]; then
			say "found $worse; expected it to stand as well as the release before"
			return 1
		fi
	done
}

tell_why() {
	journalctl --unit $unit --lines 12 --no-pager --output cat >&2 || true
}

go_live() { # PREVIOUS EARLIER BEFORE: the release before, the one before that, how the table stood
	local previous=$1 earlier=$2 before=$3
	tell_system
	if [ ! -e /etc/table/table.yaml ]; then
		say "no /etc/table/table.yaml yet: copy one from /etc/table/samples, or make install TABLE=craps"
		say "then: systemctl enable --now $unit"
		return 0
	fi
	make_key
	systemctl enable -q $unit
	if start_or_not && stands "$before"; then
		say "$(release_of current) runs; after an update a person takes it as right: tablectl approve identity"
		return 0
	fi
	tell_why
	if [ -z "$previous" ] || [ "$previous" = "$(release_of current)" ]; then
		say "the controller did not come up, and there is no release to go back to; its last words are above"
		return 1
	fi
	say "$(release_of current) did not come up (its last words are above); going back to $previous"
	local failed
	failed=$(release_of current)
	back_to "$previous" || true
	if [ -n "$earlier" ]; then switch_to "$earlier" previous; else rm -f "$home/previous"; fi
	rm -f "$home/$failed/complete" # it is built anew at the next install
	return 1
}

back_to() { # RELEASE: its program and its own units
	switch_to "$1" current
	lay_system_files "$home/$1/systemd"
	systemctl daemon-reload
	if start_or_not; then
		say "$1 runs again"
	else
		tell_why
		say "$1 did not come up either; its last words are above"
		return 1
	fi
}

do_install() {
	check_machine
	local release previous earlier before=
	release=releases/$(name_release)
	previous=$(release_of current)
	earlier=$(release_of previous)
	take_folders
	make_release "${release#releases/}"
	rm -rf "$home/$release/systemd"
	mkdir -p "$home/$release/systemd"
	cp -R "$here"/systemd/* "$home/$release/systemd/"
	forget_compiled "$home/$release"
	verify_release "$home/$release"
	compile_release "$home/$release"
	# What was copied, unpacked or compiled brings modes of its own; a folder's default ACL outranks the umask.
	chmod -R u=rwX,go=rX "$home/$release"
	if live; then before=$(how_it_stands); fi
	lay_configuration
	lay_system_files "$here/systemd"
	if [ -n "$previous" ] && [ "$previous" != "$release" ]; then
		switch_to "$previous" previous
	fi
	switch_to "$release" current
	say "$release is in place"
	if live; then go_live "$previous" "$earlier" "$before"; fi
	forget_old_ones
}

do_rollback() {
	local now before
	now=$(release_of current)
	before=$(release_of previous)
	if [ -z "$before" ] || [ "$before" = "$now" ] || [ ! -e "$home/$before/complete" ]; then
		refuse "found no earlier release in $home, expected one that \`make install\` replaced"
	fi
	is_ours "$home/$before/" ||
		refuse "found files of another user in $home/$before, expected this user's alone; install that release again"
	switch_to "$now" previous
	if live; then
		back_to "$before"
	else
		switch_to "$before" current
		lay_system_files "$home/$before/systemd"
		say "$before is in place"
	fi
}

forget_old_ones() { # the newest few stay, and always what is named
	local old
	find "$home/releases" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %f\n' | sort -rn | cut -d' ' -f2 |
		tail -n +$((keep + 1)) | while read -r old; do
		case releases/$old in
		"$(release_of current)" | "$(release_of previous)") ;;
		*) rm -rf "$home/releases/$old" ;;
		esac
	done
}

do_uninstall() { # programs and units go; settings, keys, journal and recordings stay
	if live; then systemctl disable -q --now $unit table-{settlement,console,sign-in,camera}.service 2>/dev/null || true; fi
	rm -f "$root"/etc/systemd/system/table{,-settlement,-console,-sign-in,-camera}.service "$root/etc/udev/rules.d/60-table.rules" \
		"$root"/usr/lib/{sysusers,tmpfiles}.d/table.conf "$root/etc/modules-load.d/table.conf" \
		"$root/etc/systemd/journald.conf.d/table.conf" "$root/etc/systemd/system.conf.d/table-watchdog.conf" \
		"$root/usr/local/bin/tablectl"
	rm -rf "$home"
	if live; then systemctl daemon-reload; fi
	say "gone; left alone: $root/etc/table, $root/var/lib/table, $root/var/lib/table-head, and the settlement engine's"
}

do_wheelhouse() { # all that an install without a network needs, for this kind of machine and Python
	[ -n "$wheelhouse" ] || refuse "found no WHEELHOUSE, expected the folder to fill: WHEELHOUSE=wheels"
	mkdir -p "$wheelhouse"
	local work lock
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$work'" EXIT
	"$python" -m venv "$work/tools"
	for lock in requirements-table.lock requirements.lock; do # what runs, and what makes the project's own wheel
		"$work/tools/bin/python" -m pip -qq --disable-pip-version-check download --require-hashes \
			--only-binary :all: --dest "$wheelhouse" --requirement "$here/$lock"
	done
	say "$wheelhouse: $(find "$wheelhouse" -name '*.whl' | wc -l) wheels"
}

case ${1:-} in
install | rollback | uninstall | wheelhouse) "do_$1" ;;
*) refuse "found '${1:-}', expected install, rollback, uninstall or wheelhouse" ;;
esac
