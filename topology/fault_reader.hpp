#pragma once
// Reads `faults:` of a `cluster:` section: what is slow, has failed or has lost some of its links. Private to this folder.

#include <string>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"
#include "topology/description.hpp"

namespace topology {

// Adds the faults to a cluster that is sound without them: nodes that differ from their type to `faulty`, links between switches to
// `network_faults`. Problems go to `sink`.
void read_faults(const base::Yaml& list, const std::string& path, ClusterDescription& cluster, base::Diagnostics& sink);

}  // namespace topology
