# Runs a command in a copy of a file system, with the network of the caller. What is written is gone with it, and what is mounted is read-only outside of /dev. Needs a mount and a PID namespace of its own.
#   enter.sh <file system> <empty folder> <ro|rw> [<source>:<target>]... -- <command>...
set -eu
base=$1 work=$2 mode=$3
shift 3
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
mount -t proc proc proc
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs dev
mkdir dev/pts dev/shm
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mount -t devpts devpts dev/pts -o newinstance,ptmxmode=0666
ln -s pts/ptmx dev/ptmx
while [ "$1" != -- ]; do
  from=${1%%:*} to=.${1#*:}
  if [ -d "$from" ]; then mkdir -p "$to"; else touch "$to"; fi
  mount --bind "$from" "$to"
  case $to in ./dev/*) ;; *) mount -o remount,bind,ro "$to" ;; esac
  shift
done
shift
[ "$mode" = rw ] || mount -o remount,bind,ro .
exec chroot . "$@"
