#!/usr/bin/env bash
# Unpacks a program out of Debian's packages into a folder, once, with the libraries that it needs and this machine
# lacks, and makes a launcher DIR/PROGRAM. Nothing is installed on the machine itself.
# Usage: debian.sh DIR nginx|chromium|mpiexec|java|zsh|fish|rpm|ruby|qemu-aarch64-static|prometheus|wrk|h2load. Needs apt, not root.
set -euo pipefail
dir=$1 program=$2
exec 9>"$dir.lock"
flock 9
[ -e "$dir/ready" ] && exit 0
rm -rf "$dir"
mkdir -p "$dir"/{cache/archives/partial,unpacked}
case $program in
  nginx | prometheus | wrk) packages=("$program") ;;
  h2load) packages=(nghttp2-client) ;;
  chromium) packages=(chromium fonts-roboto-unhinted fonts-dejavu-core) ;;
  mpiexec) packages=(openmpi-bin) ;;
  java) packages=(default-jre-headless) ;;
  zsh | fish | rpm | ruby) packages=("$program") ;;
  qemu-aarch64-static) packages=(qemu-user-static) ;;
  *) echo "unknown program $program" >&2; exit 1 ;;
esac
command -v apt-get >/dev/null || { echo "no apt-get: install $program by hand" >&2; exit 1; }
# All programs share the lists of packages, which are read again after an hour.
lists=$(dirname "$dir")/debian-lists
mkdir -p "$lists/partial"
exec 8>"$lists.lock"
apt=(apt-get -qq -o Dir::State::lists="$lists" -o Dir::Cache="$dir/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root
  -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1)
flock 8
if [ -z "$(find "$lists/ready" -mmin -60 2>/dev/null)" ]; then
  "${apt[@]}" -o APT::Update::Error-Mode=any update
  touch "$lists/ready"
fi
flock --shared 8
"${apt[@]}" install --download-only --reinstall -y --no-install-recommends "${packages[@]}"
for package in "$dir"/cache/archives/*.deb; do dpkg -x "$package" "$dir/unpacked"; done
exec 8>&-
rm -rf "${dir:?}/cache"

root=$dir/unpacked
lib=$(echo "$root"/usr/lib/*-linux-gnu)
# Libraries lie in several folders; those of plugins are not meant for the search path.
libs=$(find "$root" -path '*/lib/*' -name '*.so*' -printf '%h\n' | sort -u |
  { grep -v -e /openmpi3$ -e /gconv -e /engines -e /dri$ -e /chromium$ -e /modules || true; } | tr '\n' ':')
case $program in
  nginx) run="exec '$root/usr/sbin/nginx'" ;;
  prometheus | wrk | h2load) run="exec '$root/usr/bin/$program'" ;;
  chromium)
    # Pages look the same on every machine: generic names of fonts mean those of the packages.
    mkdir -p "$dir/fonts"
    {
      echo '<?xml version="1.0"?><fontconfig>'
      printf '<dir>%s</dir><dir>/usr/share/fonts</dir><cachedir>%s</cachedir>\n' "$root/usr/share/fonts" "$dir/fonts"
      for pair in sans-serif:Roboto system-ui:Roboto 'serif:DejaVu Serif' 'monospace:DejaVu Sans Mono'; do
        printf '<alias binding="same"><family>%s</family><prefer><family>%s</family></prefer></alias>\n' "${pair%%:*}" "${pair#*:}"
      done
      echo '</fontconfig>'
    } >"$dir/fonts.conf"
    run="FONTCONFIG_FILE='$dir/fonts.conf' exec '$root/usr/lib/chromium/chromium'"
    ;;
  java)
    # Its settings lie in /etc and are linked to from its own folder.
    find "$root/usr/lib/jvm" -type l | while read -r link; do
      to=$(readlink "$link")
      [ ! -e "$root$to" ] || ln -sfn "$root$to" "$link"
    done
    run="exec '$(find "$root/usr/lib/jvm" -path '*/bin/java' -print -quit)'"
    ;;
  zsh | fish) run="exec '$(find "$root/bin" "$root/usr/bin" -name "$program" -print -quit 2>/dev/null || true)'" ;;
  rpm) run="export RPM_CONFIGDIR='$root/usr/lib/rpm'; exec '$root/usr/bin/rpm'" ;;
  ruby) run="exec '$(find "$root/usr/bin" -name 'ruby[0-9]*' -print -quit)'" ;;
  qemu-aarch64-static)
    find "$root/usr/bin" -type f ! -name "$program" -delete # emulators of other processors, 300 MB
    run="exec '$root/usr/bin/$program'"
    ;;
  mpiexec)
    run="export OPAL_PREFIX='$root/usr' OPAL_LIBDIR='$lib' OPAL_PKGLIBDIR='$lib/openmpi/lib/openmpi3'
export OPAL_DATADIR='$root/usr/share' OPAL_PKGDATADIR='$root/usr/share/openmpi' OPAL_SYSCONFDIR='$root/etc/openmpi'
export PMIX_INSTALL_PREFIX='$lib/pmix2' PMIX_MCA_pcompress_base_silence_warning=1 PATH='$root/usr/bin':\"\$PATH\"
exec '$root/usr/bin/mpiexec.openmpi'"
    ;;
esac
printf '#!/bin/sh\nexport LD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n%s "$@"\n' "${libs%:}" "$run" >"$dir/$program"
chmod +x "$dir/$program"
[ "$program" != mpiexec ] || ln -s mpiexec "$dir/mpirun"
case $program in
  nginx) "$dir/nginx" -V 2>/dev/null ;;
  wrk) { "$dir/wrk" -v || true; } | grep -q '^wrk' ;; # it exits with 1
  *) "$dir/$program" --version >/dev/null ;;
esac
touch "$dir/ready"
