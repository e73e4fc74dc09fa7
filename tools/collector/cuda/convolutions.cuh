#pragma once
// Convolutions, where the program was built with cuDNN (FORESHARD_CUDNN).

#include <string>

#include "tools/collector/cuda/bench.cuh"

namespace collector {

[[nodiscard]] std::string cudnn_version();  // "9.19.0"; empty: built without
// Throws: NotSupported when cuDNN has nothing for it, or is not there.
[[nodiscard]] Launch convolution_launch(const Bench& b, const Case& c);

}  // namespace collector
