#include "sim/lowering/framework.hpp"

#include <limits>

namespace sim {

FrameworkBehaviour behaviour_of(pcg::Framework f) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const base::Bytes everything(std::numeric_limits<double>::infinity());
  switch (f) {
    // torch.nn.parallel.DistributedDataParallel: bucket_cap_mb = 25, reduced as backward hooks fire (PyTorch documentation).
    case pcg::Framework::pytorch: return {base::Bytes(25 * kMiB), true, true};
    // Megatron-LM: --overlap-grad-reduce is off by default: one reduction of the contiguous gradient buffer after the backward pass;
    // the column-parallel input gradient's all-reduce is asynchronous (async_tensor_model_parallel_allreduce).
    case pcg::Framework::megatron: return {everything, false, true};
    // DeepSpeed configuration: reduce_bucket_size = 5e8 elements (of 2 bytes), overlap_comm = false for stages 1 and 2.
    case pcg::Framework::deepspeed: return {base::Bytes(5e8 * 2), false, false};
    // Ours: what a careful implementation does.
    case pcg::Framework::generic: return {base::Bytes(25 * kMiB), true, true};
  }
  return {everything, false, false};
}

}  // namespace sim
