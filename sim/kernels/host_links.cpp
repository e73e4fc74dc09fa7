#include "sim/kernels/host_links.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/diagnostics.hpp"

namespace sim {
namespace {

topology::HostLink slowest(const topology::Cluster& cluster, const topology::DeviceKind& kind) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  topology::HostLink link{base::BytesPerSecond(kNoLimit), base::BytesPerSecond(kNoLimit), 1};
  for (std::size_t d = 0; d < cluster.devices().size(); ++d) {
    if (topology::kind_of(cluster.devices()[d]) != kind) continue;
    const auto own = cluster.host_link(base::DeviceId(d));
    if (!own) {
      base::Diagnostics problems;
      problems.add({}, "plan.memory.offload",
                   fmt::format("GPU {} of node {} has no way to a CPU in the description of the cluster",
                               cluster.devices()[d].index_in_node, cluster.devices()[d].node));
      problems.throw_if_any();
    }
    link.to_host = std::min(link.to_host, own->to_host);
    link.from_host = std::min(link.from_host, own->from_host);
    link.sharers = std::max(link.sharers, own->sharers);
  }
  return link;
}

}  // namespace

HostLinks::HostLinks(const topology::Cluster& cluster, const std::vector<topology::DeviceKind>& kinds) {
  for (const topology::DeviceKind& kind : kinds) links_.push_back(slowest(cluster, kind));
}

std::vector<base::Seconds> HostLinks::to_host(base::Bytes bytes) const {
  std::vector<base::Seconds> times;
  for (const topology::HostLink& l : links_) times.push_back(bytes / l.to_host);
  return times;
}

std::vector<base::Seconds> HostLinks::from_host(base::Bytes bytes) const {
  std::vector<base::Seconds> times;
  for (const topology::HostLink& l : links_) times.push_back(bytes / l.from_host);
  return times;
}

std::vector<base::Seconds> HostLinks::update(double parameters) const {
  std::vector<base::Seconds> times;
  for (const topology::HostLink& l : links_) times.push_back(kHostUpdate * (parameters * l.sharers));
  return times;
}

}  // namespace sim
