#!/usr/bin/env bash
# Puts the real peers of the conformance tests into a folder of the user's cache, once:
#
#   server/   tritonserver 2.51 with its Python backend   from the Python package nvidia-pytriton
#   client/   perf_analyzer 2.60                          from the Python package tritonclient
#   cudart/   the CUDA runtime, without which perf_analyzer refuses shared memory of any kind
#   libc/     a C library new enough for perf_analyzer    from Debian 13, unpacked beside, never installed
#
# and two launchers, tritonserver and perf_analyzer. Packages are asked for by name from the registries that
# pip and apt are set up for. Usage: install.sh DIR. Needs python3 with venv, and apt where the C library is old.
set -euo pipefail
source "$(dirname "$0")/uv.sh"
dir=$1
stamp=$dir/ready-7
[ -e "$stamp" ] && exit 0
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
[ -e "$stamp" ] && exit 0

py=$(command -v python3)
pyversion=$("$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
pylib=$("$py" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
install() { uv pip install --python "$py" "$@"; }

echo "installing the real tritonserver" >&2
install --target "$dir/server" --no-deps nvidia-pytriton==0.7.0
home=$dir/server/pytriton/tritonserver
# The backend looks for modules in the machine's Python and in its own folder, and ignores PYTHONPATH.
install --target "$home/backends/python" --compile-bytecode 'numpy<2'
stub=$home/python_backend_stubs/$pyversion/triton_python_backend_stub
[ -e "$stub" ] || { echo "this tritonserver has no Python backend for Python $pyversion" >&2; exit 1; }
cp "$stub" "$home/backends/python/"
chmod +x "$home/bin/tritonserver" "$home/backends/python/triton_python_backend_stub"

cat >"$dir/tritonserver" <<X
#!/bin/sh
unset PYTHONPYCACHEPREFIX
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=
export LD_LIBRARY_PATH="$pylib:$dir/server/nvidia_pytriton.libs\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" PATH="$(dirname "$py"):\$PATH"
exec "$home/bin/tritonserver" --backend-directory="$home/backends" --cache-directory="$home/caches" --repoagent-directory="$home/repoagents" "\$@"
X

echo "installing the real perf_analyzer" >&2
install --target "$dir/client" --no-deps tritonclient==2.60.0
chmod +x "$dir/client/bin/perf_analyzer"
install --target "$dir/cudart" --no-deps nvidia-cuda-runtime-cu12==12.9.79
cudart=$dir/cudart/nvidia/cuda_runtime/lib
ln -sf libcudart.so.12 "$cudart/libcudart.so"
if "$dir/client/bin/perf_analyzer" --version >/dev/null 2>&1; then
  cat >"$dir/perf_analyzer" <<X
#!/bin/sh
LD_LIBRARY_PATH="$cudart" exec "$dir/client/bin/perf_analyzer" "\$@"
X
else
  libc=$dir/libc
  mkdir -p "$libc"/{state/lists/partial,cache/archives/partial,unpacked}
  mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] *\)\?\([^ ]*\).*/\2/p' /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -1 || true)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$libc/sources.list"
  apt="apt-get -qq -o Dir::Etc::sourcelist=$libc/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$libc/state/lists -o Dir::Cache=$libc/cache -o APT::Sandbox::User=root -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1"
  (cd "$libc" && $apt update && $apt download libc6 libstdc++6 libgcc-s1 libssl3t64 zlib1g libzstd1 && for d in ./*.deb; do dpkg -x "$d" unpacked; done && rm -f ./*.deb)
  lib=$(echo "$libc"/unpacked/usr/lib/*-linux-gnu)
  loader=$(echo "$lib"/ld-linux-*.so.*)
  cat >"$dir/perf_analyzer" <<X
#!/bin/sh
exec "$loader" --argv0 perf_analyzer --library-path "$lib:$cudart" "$dir/client/bin/perf_analyzer" "\$@"
X
fi
chmod +x "$dir/tritonserver" "$dir/perf_analyzer"
"$dir/perf_analyzer" --version >&2
touch "$stamp"
