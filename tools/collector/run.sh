#!/usr/bin/env bash
# Measures this machine and writes one file: run.sh [--out FOLDER] [--seconds N] [--device N]
# Builds the collector (build.sh), runs it, iterations.py and with several GPUs parallel.py, and joins what they wrote: FOLDER/collect.json, traces in FOLDER/traces.
# README.md says what is measured. Nothing is fetched; the GPU's settings are left as they are.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=collect-result seconds=560 device=0
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=${2:?--out FOLDER}; shift 2 ;;
    --seconds) seconds=${2:?--seconds N}; shift 2 ;;
    --device) device=${2:?--device N}; shift 2 ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
if ! [[ $seconds =~ ^[0-9]+$ && $device =~ ^[0-9]+$ ]] || [ "$seconds" -lt 60 ]; then
  echo "--seconds is a whole number from 60 on, --device a whole number" >&2
  exit 2
fi
export CUDA_DEVICE_ORDER=PCI_BUS_ID  # as nvidia-smi numbers them
mkdir -p "$out/parts" "$out/traces"
rm -f "$out/parts/"*.json "$out/parts/smi.csv" "$out/collect.json"  # nothing of an earlier run is joined to this one
left() { echo $((seconds - SECONDS)); }

"$here/build.sh" "$out/parts/foreshard-collect" "$out/parts/objects"

smi=
driver=
if command -v nvidia-smi >/dev/null; then
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i "$device" 2>/dev/null | head -1 || true)
  nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader,nounits -lms 1000 -i "$device" \
    >"$out/parts/smi.csv" 2>/dev/null &
  smi=$!
fi
stop_smi() { [ -z "$smi" ] || kill "$smi" 2>/dev/null || true; smi=; }
trap stop_smi EXIT

# Shares of the time, less what starting and ending take; each part keeps to its own by itself, `timeout` is for a hang.
share=$(($(left) * 30 / 100))
status=0
timeout $((share + 60)) "$out/parts/foreshard-collect" --out "$out/parts/kernels.json" --budget "$share" --device "$device" || status=$?
if ! [ -f "$out/parts/kernels.json" ]; then
  echo "the collector wrote nothing (exit code $status)" >&2
  [ "$status" = 2 ] && exit 2  # no such GPU
  exit 1
fi
if ! command -v python3 >/dev/null; then
  echo "no python3: without iterations and clocks" >&2
  cp "$out/parts/kernels.json" "$out/collect.json"
  exit 1
fi
operations=$(($(left) * 45 / 100))
CUDA_VISIBLE_DEVICES=$device timeout $((operations + 60)) python3 "$here/operations.py" --out "$out/parts/operations.json" \
  --budget "$operations" || status=1
gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l || true)
rest=$(($(left) - 25))
[ "$gpus" -lt 2 ] || rest=$((rest * 60 / 100))  # parallel.py has the other part
CUDA_VISIBLE_DEVICES=$device timeout $((rest + 60)) python3 "$here/iterations.py" --out "$out/parts/iterations.json" \
  --traces "$out/traces" --budget "$rest" || status=1
rest=$(($(left) - 20))
if [ "$gpus" -ge 2 ] && [ "$rest" -gt 0 ]; then
  timeout $((rest + 60)) python3 -m torch.distributed.run --standalone --nproc-per-node "$gpus" "$here/parallel.py" --out "$out/parts/parallel.json" \
    --traces "$out/traces" --budget "$rest" || status=1
fi
stop_smi
python3 "$here/merge.py" "$out/parts/kernels.json" "$out/parts/iterations.json" "$out/parts/operations.json" "$out/parts/smi.csv" "$driver" "$out/collect.json"
echo "$out/collect.json after $SECONDS s; tables of it: $here/tables.py; traces for foreshard compare: $out/traces" >&2
exit "$status"
