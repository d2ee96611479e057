#!/usr/bin/env bash
# Builds the ONNX C++ library from its Python source archive and installs it to PREFIX.
# cmake/onnx.cmake runs this when the prefix is missing; it works by hand just as well:
#
#   cmake/build_onnx.sh CACHE_DIR PREFIX
#
# CACHE_DIR keeps the archive. An archive placed there by hand is used without any download.
# Takes CXX, CMAKE, PYTHON and JOBS from the environment.
set -euo pipefail

readonly version=1.22.0
readonly sha256=ef40c0aaf0b643857ea9306fc7eddce17eaf9fb0407e4801f1fc5758443a38e0
readonly cache=$1 prefix=$2
readonly archive=onnx-$version.tar.gz
readonly cmake=${CMAKE:-cmake} python=${PYTHON:-python3} jobs=${JOBS:-2}

verified() { (cd "$cache" && echo "$sha256  $archive" | sha256sum --check --status 2>/dev/null); }

# pip reads the archive's metadata, which needs the archive's own build backend; pip installs that
# into a temporary environment by itself. The venv is only there to have a pip.
download() {
  "$python" -m venv "$work/venv" &&
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check \
      --no-deps --no-binary onnx --dest "$cache" "onnx==$version"
}

mkdir -p "$cache"
exec 9>"$cache/onnx.lock"
flock 9 # Two build trees may be configured at once; the second finds the first one's result.
[[ -e $prefix/lib/libonnx.a ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! verified; then
  rm -f "$cache/$archive"
  echo "onnx: fetching $archive with pip"
  if ! download || ! verified; then
    cat >&2 <<MESSAGE
onnx: could not fetch $archive with pip (sha256 $sha256).
  Without network access, fetch it where there is some:
    pip download --no-deps --no-binary onnx onnx==$version
  put it at $cache/$archive, and configure again.
  Or point SOAPSTONE_ONNX_PREFIX at an install of ONNX $version with ONNX_NAMESPACE=soapstone_onnx.
MESSAGE
    exit 1
  fi
fi

echo "onnx: building $version (once; about a minute)"
tar -xzf "$cache/$archive" -C "$work"
source_dir=$work/onnx-$version
# ONNX asks for CMake 3.26 but needs nothing that Debian 12's 3.25 does not have.
sed -i 's/^cmake_minimum_required(VERSION 3.26)/cmake_minimum_required(VERSION 3.25)/' \
  "$source_dir/CMakeLists.txt"

log=$cache/onnx-build.log
if ! {
  "$cmake" -S "$source_dir" -B "$work/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DPython3_EXECUTABLE="$(command -v "$python")" \
    -DONNX_NAMESPACE=soapstone_onnx -DONNX_USE_PROTOBUF_SHARED_LIBS=ON \
    -DONNX_USE_UNITY_BUILD=ON -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_PREFIX="$prefix.partial" &&
    "$cmake" --build "$work/build" --parallel "$jobs" &&
    "$cmake" --install "$work/build"
} >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "onnx: the build failed; the whole log is $log" >&2
  exit 1
fi

find "$prefix.partial" -type d -empty -delete
rm -rf "$prefix"
mv "$prefix.partial" "$prefix"
echo "onnx: installed to $prefix"
