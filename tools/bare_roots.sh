# Bare Debian systems for tools/check_packages and tools/check_routes: as root, with debootstrap and a
# mirror of Debian. They are kept in build/roots. The current folder is the repository's.
mirror=${RUV_DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p build/roots build/packages

# bare SUITE: the path of a tarball of a system with nothing but what Debian calls required.
bare() {
  local kept=build/roots/$1.tar work
  if [ ! -f "$kept" ]; then
    work=$(mktemp -d)
    echo "a bare $1" >&2
    debootstrap --variant=minbase "$1" "$work" "$mirror" >"build/roots/$1.log" 2>&1 ||
      { tail -5 "build/roots/$1.log" >&2; exit 1; }
    tar -C "$work" -cf "$kept.new" .
    mv "$kept.new" "$kept"
    rm -rf "$work"
  fi
  echo "$kept"
}

# new_root SUITE FILE…: the path of a fresh system with the files in /packages; the caller removes it.
new_root() {
  local root suite=$1
  shift
  root=$(mktemp -d)
  tar -C "$root" -xf "$(bare "$suite")"
  mkdir "$root/packages"
  cp "$@" "$root/packages/"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  echo "$root"
}

# inside ROOT COMMAND: with its own processes, /proc and /dev, and this machine's names of hosts.
inside() {
  unshare --mount --pid --fork bash -euc '
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    exec chroot "$0" /bin/sh -euc "$1"' "$@"
}

# seconds_between A B: of two times of date +%s.%N, rounded.
seconds_between() { echo "$1 $2" | awk '{printf "%.1f", $2 - $1}'; }
