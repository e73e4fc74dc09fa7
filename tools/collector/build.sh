#!/usr/bin/env bash
# Builds the collector with nvcc alone: build.sh FILE [FOLDER for objects]. What is not found (cuDNN, NCCL) is left out and said.
# CUDA_ARCHITECTURES (e.g. "80 90") overrides: the GPU that is there, else those that nvcc has of 70, 80, 90.
# Exit code 3: nothing to build with.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:?build.sh FILE [FOLDER for objects]}
objects=${2:-$(dirname "$out")/collect-objects}

nvcc=$(command -v nvcc || true)
for folder in "${CUDA_HOME:-}" /usr/local/cuda; do
  [ -n "$nvcc" ] || [ ! -x "$folder/bin/nvcc" ] || nvcc=$folder/bin/nvcc
done
[ -n "$nvcc" ] || { echo "no nvcc: the collector is not built (set CUDA_HOME to a CUDA toolkit)" >&2; exit 3; }
toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)

# Folders that may hold include/ and lib/ of libraries: the toolkit, the system, Python packages of NVIDIA.
places=("$toolkit" /usr /usr/local)
if command -v python3 >/dev/null; then
  while read -r folder; do places+=("$folder"); done < <(python3 - <<'PYTHON'
import glob, site, sys
for base in site.getsitepackages() + [p for p in sys.path if p.endswith("-packages")]:
    for folder in sorted(glob.glob(base + "/nvidia/*")):
        print(folder)
PYTHON
  )
fi
# find_library HEADER SONAME: prints the compiler's and linker's flags for the first place that has both.
find_library() {
  local place include library
  for place in "${places[@]}"; do
    for include in "$place/include" "$place/include/x86_64-linux-gnu" "$place/include/aarch64-linux-gnu"; do
      [ -f "$include/$1" ] || continue
      # shellcheck disable=SC2231
      for library in "$place"/lib64/lib$2.so* "$place"/lib/lib$2.so* "$place"/lib/*-linux-gnu/lib$2.so*; do  # the first of several versions
        [ -f "$library" ] || continue
        echo "-I$include -L$(dirname "$library") -l:$(basename "$library") -Xlinker -rpath -Xlinker $(dirname "$library")"
        return
      done
    done
  done
}

blas=$(find_library cublasLt.h cublasLt)
[ -n "$blas" ] || { echo "no cuBLAS beside $nvcc: the collector is not built" >&2; exit 3; }
dnn=$(find_library cudnn.h cudnn)
nccl=$(find_library nccl.h nccl)
[ -n "$dnn" ] || echo "no cuDNN: convolutions are left out" >&2
[ -n "$nccl" ] || echo "no NCCL: collectives are left out" >&2

has=$("$nvcc" --list-gpu-arch)
architectures=()
if [ -n "${CUDA_ARCHITECTURES:-}" ]; then
  for a in $CUDA_ARCHITECTURES; do architectures+=(-gencode "arch=compute_$a,code=sm_$a"); done
elif command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
  architectures=(-arch=native)
else
  for a in 70 80 90; do grep -q "compute_$a\$" <<<"$has" && architectures+=(-gencode "arch=compute_$a,code=sm_$a"); done
fi

flags=(-std=c++20 -O2 "-I$root" -Xcompiler "-Wall,-Wno-deprecated-declarations" "${architectures[@]}" -Wno-deprecated-gpu-targets)
[ -z "$dnn" ] || flags+=(-DFORESHARD_CUDNN)
[ -z "$nccl" ] || flags+=(-DFORESHARD_NCCL)
includes=$(tr ' ' '\n' <<<"$blas $dnn $nccl" | grep '^-I' | grep -v '^-I/usr/include$' | sort -u || true)

mkdir -p "$objects" "$(dirname "$out")"
sources=("$here"/*.cpp "$here"/cuda/*.cu)
jobs=${JOBS:-$(nproc)}
running=()
for s in "${sources[@]}"; do
  if [ "${#running[@]}" -ge "$jobs" ]; then
    wait "${running[0]}"
    running=("${running[@]:1}")
  fi
  # shellcheck disable=SC2086  # several words each
  "$nvcc" "${flags[@]}" $includes -c "$s" -o "$objects/$(basename "$s").o" &
  running+=($!)
done
for job in "${running[@]}"; do wait "$job"; done
linked=()
for s in "${sources[@]}"; do linked+=("$objects/$(basename "$s").o"); done
# shellcheck disable=SC2086
"$nvcc" "${architectures[@]}" -Wno-deprecated-gpu-targets "${linked[@]}" -o "$out" $blas $dnn $nccl
echo "$out" >&2
