#pragma once
// Convolutional networks for images. Private to pcg/models.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "pcg/graph/graph.hpp"

namespace pcg::models {

// ResNeXt-50 32x4d (Xie et al., arXiv 1611.05431), the wide ResNets of Alpa's evaluation (OSDI'22, table 7), Inception-v3.
[[nodiscard]] std::map<std::string, std::function<Graph(std::int64_t batch)>, std::less<>> convolutional_networks();

}  // namespace pcg::models
