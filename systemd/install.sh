#!/usr/bin/env bash
# Install, upgrade, roll back and uninstall the controller on a table's own machine; called by `make install`,
# `make rollback` and other targets. Each release has its own folder, and the link `current` selects the one that runs.
set -euo pipefail
umask 022 # root's umask might hide the program from the service, or let a group write to it

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
steady_s=25 # longer than the unit's WatchdogSec, so that a thread that hangs from the start is detected
patience_s=60

say() { echo "install: $*" >&2; }
refuse() {
	say "$*"
	exit 2
}
live() { [ -z "$root" ] && [ -d /run/systemd/system ]; }
release_of() { readlink "$home/$1" 2>/dev/null || true; }

# A file system may write a file's name to the disk half a minute before its contents: a power cut in between would
# leave empty files under a name that marks them as complete. So contents are written to the disk before the name.
to_disk() { # FOLDER: flush everything written on its file system
	sync -f "$1"
}

switch_to() { # NAME LINK: switch the link to another release, atomically
	to_disk "$home"
	ln -sfn "$1" "$home/$2.new"
	mv -T "$home/$2.new" "$home/$2"
	to_disk "$home" # before the release runs, because the previous release might not be able to read its data
}

put_files() { # FOLDER FILE...: replace each file atomically, safe against a power cut
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
	[ -w "${root:-/opt}" ] || refuse "cannot write to ${root:-/opt}; run \`sudo make install\`"
	"$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info)' 2>/dev/null ||
		refuse "$python is not Python 3.11 or newer with venv; \`apt install python3-venv\`, or set PYTHON="
	[ -z "$wheelhouse" ] || [ -d "$wheelhouse" ] ||
		refuse "there is no folder $wheelhouse; fill it first with \`make wheelhouse\`"
	local there
	there=$(table_file)
	[ -z "$there" ] || [ -r "$there" ] || refuse "cannot read $there; correct TABLE="
}

# Print the table's file: the one in /etc/table, else the sample that TABLE names.
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

name_release() { # print version and digest: the same sources and extras result in the same name
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

own_wheel() { # FOLDER: build the wheel of this checkout there, with pinned tools, and print its path
	"$python" -m venv "$1/tools"
	pip_into "$1/tools" --require-hashes --requirement "$here/requirements.lock"
	"$1/tools/bin/python" -m pip -qq --disable-pip-version-check wheel --no-deps --no-build-isolation \
		--wheel-dir "$1" "$here"
	compgen -G "$1/table_controller-*.whl"
}

is_ours() { # FOLDER: whether every file is this user's; the owner of a program's file can change what the service runs
	[ -z "$(find "$1" ! -user "$(id -u)" -print -quit)" ]
}

# The folders may already exist, left by an earlier installation or created by another user, who must not remain their owner.
take_folders() {
	local folder
	for folder in "$home" "$home/releases" "$root/etc/table" "$root/etc/table/samples"; do
		[ ! -L "$folder" ] || is_ours "$folder" ||
			refuse "found a symbolic link $folder owned by another user, expected a folder; remove the link"
		mkdir -p "$folder"
		[ "$(id -u)" -ne 0 ] || chown root:root "$folder"
		chmod 0755 "$folder"
	done
}

make_release() { # NAME: build the release; it is valid only once its last file, `complete`, is written
	local release=$home/releases/$1 work wanted wheel
	if [ -e "$release/complete" ] && is_ours "$release"; then return 0; fi
	rm -rf "$release"
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # this folder
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
	if [ -n "$root" ]; then # its scripts must name the path at which it will run
		grep -rIlZ "^#!$release/" "$release/bin" | xargs -0 --no-run-if-empty sed -i "1s|^#!$root|#!|"
	fi
	to_disk "$release"
	echo "$wanted" >"$release/complete"
	rm -rf "$work"
	trap - EXIT
}

# Python runs a compiled copy without comparing it with the source's contents, so this script compiles the
# copies itself, from the verified sources.
remove_compiled() { # RELEASE
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

# If this machine trusts a release key, switch only to a release whose files are all signed with that key. The running release
# checks the new one if it can, because a manipulated program could declare itself genuine.
verify_release() { # RELEASE
	local release=$1 trusted=$root/etc/table/release.pub by
	rm -f "$release/release.json"
	[ ! -e "$here/release.json" ] || install -m 0644 "$here/release.json" "$release/release.json"
	[ -e "$trusted" ] || [ -L "$trusted" ] || return 0 # a dangling link is also treated as a trusted key, and is refused below
	by=$home/current/bin/python
	"$by" -c 'import controller.cli.release' 2>/dev/null || by=$release/bin/python
	"$by" -B -X pycache_prefix=/proc/none -c 'from controller.cli.main import main; raise SystemExit(main())' \
		release verify --key "$trusted" --of "$release" >&2 ||
		refuse "no key in $trusted signed this release, or it contains files that are not signed (see above);" \
			"the running release was not changed"
}

put_system_files() { # FOLDER: the units of this checkout or of a release
	local units=$1
	put_files "$root/etc/systemd/system" "$units"/*.service
	put_files "$root/etc/udev/rules.d" "$units"/udev/*.rules
	put_files "$root/usr/lib/sysusers.d" "$units/sysusers.d/table.conf"
	put_files "$root/usr/lib/tmpfiles.d" "$units/tmpfiles.d/table.conf"
	put_files "$root/etc/modules-load.d" "$units/modules-load.d/table.conf"
	put_files "$root/etc/systemd/journald.conf.d" "$units/journald.conf.d/table.conf"
	put_files "$root/etc/systemd/system.conf.d" "$units/system.conf.d/table-watchdog.conf"
	mkdir -p "$root/usr/local/bin"
	ln -sfn "$prefix/current/bin/tablectl" "$root/usr/local/bin/tablectl"
}

put_configuration() {
	put_files "$root/etc/table/samples" "$here"/config/tables/*.yaml
	local mine=$root/etc/table/table.yaml file
	file=$(table_file)
	if [ ! -e "$mine" ] && [ -n "$file" ]; then
		grep -v '^# yaml-language-server:' "$file" >"$mine.new"
		chmod 0644 "$mine.new"
		sync "$mine.new"
		mv "$mine.new" "$mine"
		say "$mine is a copy of $file; now enter the table's measurements and its devices there"
	fi
}

apply_system_files() { # create users and folders, load rules and modules now instead of at the next boot
	systemd-sysusers table.conf
	systemd-tmpfiles --create table.conf || true # it also fails if a folder has another owner
	systemctl daemon-reload
	systemctl try-restart systemd-journald.service
	udevadm control --reload 2>/dev/null || true
	udevadm trigger --subsystem-match=tty --subsystem-match=usb-serial --subsystem-match=gpio 2>/dev/null || true
	systemctl restart systemd-modules-load.service ||
		say "this kernel lacks a driver for serial ports; see \`systemctl status systemd-modules-load\`"
}

# Create the table's signing key once, sealed to this machine. The key is never replaced, and never written to a disk
# unencrypted. If sealing fails, no key is kept, and the next installation creates one.
make_key() {
	local sealed=$root/etc/table/credentials/table-key
	rm -f "$sealed.new" # left by an interrupted installation
	[ ! -e "$sealed" ] || return 0
	if [ -e "$root/var/lib/table/journal.db" ]; then
		say "found a journal in /var/lib/table but no $sealed, expected the key that signs this journal"
		say "restore it from its copy: systemd-creds encrypt --name=table-key FILE $sealed"
		return 0
	fi
	# shellcheck disable=SC2064 # this file
	trap "rm -f '$sealed.new'" EXIT
	trap 'exit 1' TERM INT HUP # runs once the current command has ended, so that it can write nothing afterwards
	if ! "$home/current/bin/python" -m controller.journal.keys |
		(umask 077 && systemd-creds encrypt --name=table-key - "$sealed.new") ||
		grep -qs "PRIVATE KEY" "$sealed.new" || # its output is checked and decrypted, even if it reports success
		! systemd-creds decrypt --name=table-key "$sealed.new" - | grep -c "PRIVATE KEY" >/dev/null; then
		rm -f "$sealed.new"
		refuse "systemd-creds could not seal the table's key (its message is above), and no key was kept; correct the" \
			"cause and run \`make install\` again, or name a key file in the unit (docs/installing.md)"
	fi
	sync "$sealed.new" # without the key, the journal that it signs can't be continued
	mv "$sealed.new" "$sealed"
	sync -f "$sealed"
	trap - EXIT TERM INT HUP
	say "created the table's key, sealed to this machine; keep a copy in a safe: \`systemd-creds decrypt $sealed FILE\`"
}

start_unit() { # systemctl waits until the controller has reported READY=1
	systemctl reset-failed $unit 2>/dev/null || true
	systemctl restart $unit
}

print_status() { # print nothing if no controller responds
	"$home/current/bin/tablectl" status --json 2>/dev/null || true
}

stays_healthy() { # BEFORE: wait until the controller has stayed ready and its status is no worse than BEFORE
	local began=$SECONDS worse
	while :; do
		sleep 1
		if [ "$(systemctl show $unit --property NRestarts --value)" != 0 ]; then
			say "the controller became ready and then failed"
			return 1
		fi
		worse=$("$python" "$here/systemd/compare_status.py" "$1" "$(print_status)")
		if [ $((SECONDS - began)) -ge $steady_s ] && [ -z "$worse" ]; then return 0; fi
		if [ $((SECONDS - began)) -ge $patience_s ]; then
			say "found $worse; expected a status no worse than under the previous release"
			return 1
		fi
	done
}

print_log() {
	journalctl --unit $unit --lines 12 --no-pager --output cat >&2 || true
}

go_live() { # PREVIOUS EARLIER BEFORE: the previous release, the one before that, the status before
	local previous=$1 earlier=$2 before=$3
	apply_system_files
	if [ ! -e /etc/table/table.yaml ]; then
		say "there is no /etc/table/table.yaml yet; copy one from /etc/table/samples, or \`make install TABLE=craps\`"
		say "then start the controller: \`systemctl enable --now $unit\`"
		return 0
	fi
	make_key
	systemctl enable -q $unit
	if start_unit && stays_healthy "$before"; then
		say "$(release_of current) is running; after an update, a person must approve it: \`tablectl approve identity\`"
		return 0
	fi
	print_log
	if [ -z "$previous" ] || [ "$previous" = "$(release_of current)" ]; then
		say "the controller did not start, and there is no release to go back to; its last log lines are above"
		return 1
	fi
	say "$(release_of current) did not start (its last log lines are above); going back to $previous"
	local failed
	failed=$(release_of current)
	back_to "$previous" || true
	if [ -n "$earlier" ]; then switch_to "$earlier" previous; else rm -f "$home/previous"; fi
	rm -f "$home/$failed/complete" # the next install builds it again
	return 1
}

back_to() { # RELEASE: switch to it and to its units
	switch_to "$1" current
	put_system_files "$home/$1/systemd"
	systemctl daemon-reload
	if start_unit; then
		say "$1 is running again"
	else
		print_log
		say "$1 did not start either; its last log lines are above"
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
	remove_compiled "$home/$release"
	verify_release "$home/$release"
	compile_release "$home/$release"
	# Copied, unpacked and compiled files have their own modes, and a folder's default ACL overrides the umask.
	chmod -R u=rwX,go=rX "$home/$release"
	if live; then before=$(print_status); fi
	put_configuration
	put_system_files "$here/systemd"
	if [ -n "$previous" ] && [ "$previous" != "$release" ]; then
		switch_to "$previous" previous
	fi
	switch_to "$release" current
	say "$release is in place"
	if live; then go_live "$previous" "$earlier" "$before"; fi
	remove_old_releases
}

do_rollback() {
	local now before
	now=$(release_of current)
	before=$(release_of previous)
	if [ -z "$before" ] || [ "$before" = "$now" ] || [ ! -e "$home/$before/complete" ]; then
		refuse "found no earlier release in $home, expected one that \`make install\` replaced"
	fi
	is_ours "$home/$before/" ||
		refuse "found files owned by another user in $home/$before, expected only this user's; install that release again"
	switch_to "$now" previous
	if live; then
		back_to "$before"
	else
		switch_to "$before" current
		put_system_files "$home/$before/systemd"
		say "$before is in place"
	fi
}

remove_old_releases() { # all but the newest few, and those that `current` and `previous` name
	local old
	find "$home/releases" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %f\n' | sort -rn | cut -d' ' -f2 |
		tail -n +$((keep + 1)) | while read -r old; do
		case releases/$old in
		"$(release_of current)" | "$(release_of previous)") ;;
		*) rm -rf "$home/releases/$old" ;;
		esac
	done
}

do_uninstall() { # remove programs and units; keep settings, keys, journal and recordings
	if live; then systemctl disable -q --now $unit table-{settlement,console,sign-in,camera}.service 2>/dev/null || true; fi
	rm -f "$root"/etc/systemd/system/table{,-settlement,-console,-sign-in,-camera}.service "$root/etc/udev/rules.d/60-table.rules" \
		"$root"/usr/lib/{sysusers,tmpfiles}.d/table.conf "$root/etc/modules-load.d/table.conf" \
		"$root/etc/systemd/journald.conf.d/table.conf" "$root/etc/systemd/system.conf.d/table-watchdog.conf" \
		"$root/usr/local/bin/tablectl"
	rm -rf "$home"
	if live; then systemctl daemon-reload; fi
	say "uninstalled; kept: $root/etc/table, $root/var/lib/table, $root/var/lib/table-head, and the settlement engine's data"
}

do_wheelhouse() { # download what an installation without a network needs, for this kind of machine and Python
	[ -n "$wheelhouse" ] || refuse "WHEELHOUSE is not set; name the folder to fill, such as WHEELHOUSE=wheels"
	mkdir -p "$wheelhouse"
	local work lock
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # this folder
	trap "rm -rf '$work'" EXIT
	"$python" -m venv "$work/tools"
	for lock in requirements-table.lock requirements.lock; do # what runs, and what builds the project's own wheel
		"$work/tools/bin/python" -m pip -qq --disable-pip-version-check download --require-hashes \
			--only-binary :all: --dest "$wheelhouse" --requirement "$here/$lock"
	done
	say "$wheelhouse: $(find "$wheelhouse" -name '*.whl' | wc -l) wheels"
}

case ${1:-} in
install | rollback | uninstall | wheelhouse) "do_$1" ;;
*) refuse "found '${1:-}', expected install, rollback, uninstall or wheelhouse" ;;
esac
