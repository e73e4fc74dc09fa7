#pragma once
// A cluster as it was understood.

#include <string>

#include "topology/cluster.hpp"

namespace reports {

[[nodiscard]] std::string cluster_text(const topology::Cluster& c);
[[nodiscard]] std::string cluster_json(const topology::Cluster& c);

}  // namespace reports
