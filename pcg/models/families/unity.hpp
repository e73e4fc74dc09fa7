#pragma once
// The networks of Unity's evaluation and their like, without the convolutional ones. Private to pcg/models.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "pcg/graph/graph.hpp"

namespace pcg::models {

// By name: each makes its graph for a batch.
[[nodiscard]] std::map<std::string, std::function<Graph(std::int64_t batch)>, std::less<>> unity_networks();

}  // namespace pcg::models
