#!/bin/sh
# Fits every device profile that ships to the public tables of kernels: profiles/calibrate.sh DATA [PROGRAM]
# DATA is a folder with operators/*.csv; each row names its source. What is written into profiles/devices/*.yaml is the part
# `fitted:` only. Takes some minutes; the same tables give the same files.
set -eu
tables=${1:?"usage: profiles/calibrate.sh DATA [PROGRAM]"}/operators
program=${2:-build/foreshard}
devices=$(dirname "$0")/devices
data=$(mktemp -d)   # the tables as measurements
trap 'rm -rf "$data"' EXIT
python3 "$(dirname "$0")/../tools/converters/measurements_from_tables.py" "$data" "$tables"/*.csv
attention=$(dirname "$0")/tables/cudnn_attention.csv   # ships: rows that DATA does not have

# fit DEVICE [options and tables]: adds to what the device's file holds.
fit() {
  device=$1
  shift
  echo "== $device $*" | sed "s|$data/||g; s|$(dirname "$attention")/||g"
  "$program" calibrate --device "$device" --output "$devices/$device.yaml" "$@"
}

for gpu in a100-sxm-80gb a100-sxm-40gb a100-pcie-80gb a100-pcie-40gb; do
  # The tables were measured on these two; 40 GB and PCIe cards are the same chip with other peaks and memory.
  pcie=a100-pcie-80gb
  [ $gpu = a100-pcie-40gb ] && pcie=a100-pcie-40gb
  fit $gpu --fresh --rows-of a100-sxm-80gb "$data/gemm_bf16_a100_sxm.csv" "$data/attention_prefill_fwd_bf16.csv"
  fit $gpu --rows-of a100-sxm-80gb --kind embedding "$data/vidur_transformer_fwd_ops.csv"
  fit $gpu --rows-of $pcie "$data/neusight_test_linear_fp32.csv" "$data/neusight_test_bmm_fp32.csv" "$data/neusight_test_elem_fp32.csv" \
    "$data/neusight_test_ln_fp32.csv" "$data/neusight_test_softmax_fp32.csv" "$data/neusight_conv_fp32.csv"
done

fit h100-sxm-80gb --fresh "$data/gemm_bf16_h100_sxm.csv" "$data/neusight_test_linear_fp32.csv" "$data/neusight_test_bmm_fp32.csv"
fit h100-sxm-80gb --rows-of h200-sxm-141gb "$attention"
fit h100-sxm-80gb --kind embedding "$data/vidur_transformer_fwd_ops.csv"

fit h200-sxm-141gb --fresh "$data/gemm_bf16_h200_sxm.csv"
fit h200-sxm-141gb --rows-of h100-sxm-80gb "$data/neusight_test_linear_fp32.csv" "$data/neusight_test_bmm_fp32.csv"
fit h200-sxm-141gb "$attention"
fit h200-sxm-141gb --rows-of h100-sxm-80gb --kind embedding "$data/vidur_transformer_fwd_ops.csv"

fit b200-sxm-180gb --fresh "$data/gemm_bf16_b200_sxm.csv"
fit b200-sxm-180gb --rows-of gb200-186gb "$attention"

# No tables of their own: those of the same chip, or of its predecessor.
for gpu in gb200-186gb b300-sxm-288gb gb300-288gb; do
  fit $gpu --fresh --rows-of b200-sxm-180gb "$data/gemm_bf16_b200_sxm.csv"
done
fit gb200-186gb "$attention"
fit gb300-288gb "$attention"
fit b300-sxm-288gb --rows-of gb300-288gb "$attention"
for gpu in h800-sxm-80gb h20-sxm-96gb; do
  fit $gpu --fresh --rows-of h100-sxm-80gb "$data/gemm_bf16_h100_sxm.csv" "$data/neusight_test_linear_fp32.csv" "$data/neusight_test_bmm_fp32.csv"
  fit $gpu --rows-of h200-sxm-141gb "$attention"
  fit $gpu --rows-of h100-sxm-80gb --kind embedding "$data/vidur_transformer_fwd_ops.csv"
done

fit l40s-48gb --fresh "$data/gemm_bf16_l40s.csv"

for gpu in v100-sxm2-16gb v100-sxm2-32gb v100-pcie-16gb; do
  fit $gpu --fresh --rows-of v100-sxm2-16gb "$data/deepbench_train_raw.csv"
  fit $gpu --kind matmul --rows-of v100-sxm2-16gb --rows-of v100-pcie-16gb "$data/deepbench_train_raw.csv" "$data/neusight_test_linear_fp32.csv" \
    "$data/neusight_test_bmm_fp32.csv"
  fit $gpu --rows-of v100-pcie-16gb "$data/neusight_test_elem_fp32.csv" "$data/neusight_test_ln_fp32.csv" "$data/neusight_test_softmax_fp32.csv"
done

fit l4-24gb --fresh --rows-of l4-24gb "$data/neusight_test_linear_fp32.csv" "$data/neusight_test_bmm_fp32.csv" "$data/neusight_test_elem_fp32.csv" \
  "$data/neusight_test_ln_fp32.csv" "$data/neusight_test_softmax_fp32.csv"
fit t4-16gb --fresh --rows-of t4-16gb "$data/deepbench_train_raw.csv" "$data/neusight_test_linear_fp32.csv" "$data/neusight_test_bmm_fp32.csv" \
  "$data/neusight_test_elem_fp32.csv" "$data/neusight_test_ln_fp32.csv" "$data/neusight_test_softmax_fp32.csv" "$data/neusight_conv_fp32.csv"
