#pragma once
// The kernels of a state space layer, of both passes. Private to pcg/work.

#include "pcg/work/work_parts.hpp"

namespace pcg::work {

// As state-spaces/mamba runs them (mamba_ssm/ops/triton/ssd_combined.py: mamba_split_conv1d_scan_combined): a convolution; inside of each
// chunk of positions the states that it adds, and its scores C B^T; from chunk to chunk a scan of the states; what states and scores give;
// a gate and a norm. The backward pass keeps what came in and what the scan gave, and computes the rest again.
[[nodiscard]] Kernels state_space_forward(const StateSpace& o, const Shard& p);
[[nodiscard]] Kernels state_space_gradient(const StateSpace& o, const Shard& p);

}  // namespace pcg::work
