#include "sim/dataflow/movement.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <compare>
#include <map>
#include <set>

#include "base/check.hpp"

namespace sim {
namespace {

using base::DeviceId;

// A block of a tensor, dim by dim. Boxes are made by the thousand, so the usual number of dims fits into the object.
using Coordinates = boost::container::small_vector<std::int64_t, 4>;

struct Box {
  Coordinates begin, end;
  std::strong_ordering operator<=>(const Box&) const = default;
  [[nodiscard]] double volume() const {
    double v = 1;
    for (std::size_t d = 0; d < begin.size(); ++d) v *= static_cast<double>(std::max<std::int64_t>(0, end[d] - begin[d]));
    return v;
  }
  [[nodiscard]] bool contains(const Box& o) const {
    for (std::size_t d = 0; d < begin.size(); ++d) {
      if (o.begin[d] < begin[d] || o.end[d] > end[d]) return false;
    }
    return true;
  }
};

Box intersect(const Box& a, const Box& b) {
  Box r = a;
  for (std::size_t d = 0; d < a.begin.size(); ++d) {
    r.begin[d] = std::max(a.begin[d], b.begin[d]);
    r.end[d] = std::max(r.begin[d], std::min(a.end[d], b.end[d]));
  }
  return r;
}

// The volume of what they have in common.
double overlap(const Box& a, const Box& b) {
  double v = 1;
  for (std::size_t d = 0; d < a.begin.size(); ++d) {
    const std::int64_t length = std::min(a.end[d], b.end[d]) - std::max(a.begin[d], b.begin[d]);
    if (length <= 0) return 0;
    v *= static_cast<double>(length);
  }
  return v;
}

Box box_of(const pcg::ParallelShape& s, const pcg::ShardIndex& i) {
  Box b;
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    const std::int64_t length = s.dims[d].size / s.dims[d].degree;
    b.begin.push_back(i.block[d] * length);
    b.end.push_back((i.block[d] + 1) * length);
  }
  return b;
}

// Devices that hold each block, copies together; sums already added. Ordered by block, then device.
using Holders = std::map<Box, std::vector<DeviceId>>;

Holders holders_of(const Layout& l) {
  Holders h;
  for (int p = 0; p < l.shape.shards(); ++p)
    h[box_of(l.shape, pcg::shard_index(l.shape, p))].push_back(l.devices[static_cast<std::size_t>(p)]);
  for (auto& [box, devices] : h) {
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  }
  return h;
}

// The blocks that each device wants (several when points share a device).
std::map<DeviceId, std::vector<Box>> wanted_by_device(const Holders& h) {
  std::map<DeviceId, std::vector<Box>> w;
  for (const auto& [box, devices] : h) {
    for (DeviceId d : devices) w[d].push_back(box);
  }
  return w;
}

// Do the members of a sum group want equal disjoint shares of the block that they add up?
bool want_shares(const Box& block, const std::vector<DeviceId>& group, const std::map<DeviceId, std::vector<Box>>& wanted) {
  std::set<Box> parts;
  double volume = 0;
  for (DeviceId d : group) {
    const auto it = wanted.find(d);
    if (it == wanted.end() || it->second.size() != 1) return false;
    const Box part = intersect(block, it->second.front());
    parts.insert(part);
    volume += part.volume();
    if (part.volume() * static_cast<double>(group.size()) != block.volume()) return false;
  }
  return parts.size() == group.size() && volume == block.volume();
}

// Adds up partial sums; gives who holds what afterwards.
Holders add_sums(const Layout& from, const std::map<DeviceId, std::vector<Box>>& wanted, base::Bytes element, Movement& out) {
  std::map<std::pair<int, Box>, std::vector<DeviceId>> groups;  // (copy, block) -> devices by sum index
  for (int p = 0; p < from.shape.shards(); ++p) {
    const pcg::ShardIndex i = pcg::shard_index(from.shape, p);
    groups[{i.copy, box_of(from.shape, i)}].push_back(from.devices[static_cast<std::size_t>(p)]);
  }
  Holders after;
  Round round;
  for (auto& [key, members] : groups) {
    const Box& block = key.second;
    std::vector<DeviceId> group = members;
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
    const bool shares = group.size() > 1 && want_shares(block, group, wanted);
    if (group.size() > 1) {
      round.push_back({shares ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, element * block.volume(), group});
    }
    for (DeviceId d : group) after[shares ? intersect(block, wanted.at(d).front()) : block].push_back(d);
  }
  if (!round.empty()) out.rounds.push_back(std::move(round));
  for (auto& [box, devices] : after) {
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  }
  return after;
}

struct Need {
  DeviceId device;
  Box box;
};

bool has(const std::map<DeviceId, std::vector<Box>>& held, DeviceId d, const Box& box) {
  const auto it = held.find(d);
  return it != held.end() && std::ranges::any_of(it->second, [&](const Box& b) { return b.contains(box); });
}

// The holder that serves `d`: itself, then one in its node, then spread by the destination's place within its node.
DeviceId pick(const std::vector<DeviceId>& holders, DeviceId d, const topology::Cluster& cluster) {
  const int node = cluster.device(d).node;
  std::vector<DeviceId> near;
  for (DeviceId h : holders) {
    if (h == d) return h;
    if (cluster.device(h).node == node) near.push_back(h);
  }
  const auto& from = near.empty() ? holders : near;
  return from[static_cast<std::size_t>(cluster.device(d).index_in_node) % from.size()];
}

// All-gathers and all-to-alls: sets of devices that hold disjoint blocks of equal size, each of which wants equal parts of all.
// Needs that are served are removed from `needs`.
Round collective_round(std::vector<Need>& needs, const Holders& sources, base::Bytes element, const topology::Cluster& cluster) {
  std::map<std::vector<DeviceId>, std::vector<std::size_t>> by_group;  // the devices that serve a need, and the needs
  std::vector<double> own(needs.size(), 0);
  for (std::size_t k = 0; k < needs.size(); ++k) {
    std::vector<DeviceId> group;
    std::set<double> volumes;
    for (const auto& [box, holders] : sources) {
      const double v = overlap(box, needs[k].box);
      if (v == 0) continue;
      const DeviceId h = pick(holders, needs[k].device, cluster);
      group.push_back(h);
      volumes.insert(v);
      if (h == needs[k].device) own[k] = v;
    }
    std::sort(group.begin(), group.end());
    const bool regular =
        volumes.size() == 1 && own[k] > 0 && group.size() > 1 && std::adjacent_find(group.begin(), group.end()) == group.end();
    if (regular) by_group[group].push_back(k);
  }
  Round round;
  std::set<std::size_t> served;
  for (const auto& [group, members] : by_group) {
    if (members.size() != group.size()) continue;
    std::set<Box> boxes;
    for (std::size_t k : members) boxes.insert(needs[k].box);
    if (boxes.size() == 1) {
      round.push_back({CollectiveKind::all_gather, element * needs[members.front()].box.volume(), group});
    } else if (boxes.size() == members.size()) {
      round.push_back({CollectiveKind::all_to_all, element * needs[members.front()].box.volume(), group});
    } else {
      continue;
    }
    served.insert(members.begin(), members.end());
  }
  std::vector<Need> rest;
  for (std::size_t k = 0; k < needs.size(); ++k) {
    if (!served.contains(k)) rest.push_back(std::move(needs[k]));
  }
  needs = std::move(rest);
  return round;
}

// Equal copies wanted in one node: each takes a share of the block from outside, and they gather it among themselves.
struct CopySet {
  Box box;
  std::vector<DeviceId> devices;
};

std::vector<CopySet> copy_sets(const std::vector<Need>& needs, const topology::Cluster& cluster) {
  std::map<std::pair<Box, int>, std::vector<DeviceId>> sets;
  for (const Need& n : needs) sets[{n.box, cluster.device(n.device).node}].push_back(n.device);
  std::vector<CopySet> out;
  for (auto& [key, devices] : sets) out.push_back({key.first, devices});
  return out;
}

void point_to_point(const std::vector<Need>& needs, const Holders& sources, base::Bytes element, const topology::Cluster& cluster,
                    Movement& out) {
  std::map<std::pair<DeviceId, DeviceId>, double> messages;
  Round gathers;
  for (const CopySet& set : copy_sets(needs, cluster)) {
    const auto n = static_cast<double>(set.devices.size());
    const bool outside = std::ranges::none_of(sources, [&](const auto& s) {
      return overlap(s.first, set.box) > 0 &&
             std::ranges::any_of(s.second, [&](DeviceId d) { return cluster.device(d).node == cluster.device(set.devices.front()).node; });
    });
    const bool share = outside && set.devices.size() > 1;
    for (DeviceId d : set.devices) {
      for (const auto& [box, holders] : sources) {
        const double v = overlap(box, set.box);
        if (v == 0) continue;
        const DeviceId h = pick(holders, d, cluster);
        if (h != d) messages[{h, d}] += share ? v / n : v;
      }
    }
    if (share) gathers.push_back({CollectiveKind::all_gather, element * set.box.volume(), set.devices});
  }
  Round sends;
  for (const auto& [ends, volume] : messages) sends.push_back({CollectiveKind::send, element * volume, {ends.first, ends.second}});
  if (!sends.empty()) out.rounds.push_back(std::move(sends));
  if (!gathers.empty()) out.rounds.push_back(std::move(gathers));
}

}  // namespace

Movement reshard(const Layout& from, const Layout& to, base::Bytes element, const topology::Cluster& cluster) {
  Movement out;
  if (from == to) return out;
  BASE_CHECK(from.shape.sum == to.shape.sum || to.shape.sum == 1, "cannot go from {} to {}", pcg::to_text(from.shape),
             pcg::to_text(to.shape));
  if (to.shape.sum > 1) {  // partial sums that stay partial: nothing to add, shards are moved one by one where devices differ
    Round sends;
    for (std::size_t p = 0; p < std::min(from.devices.size(), to.devices.size()); ++p) {
      if (from.devices[p] != to.devices[p]) {
        sends.push_back(
            {CollectiveKind::send, element * static_cast<double>(to.shape.shard().elements()), {from.devices[p], to.devices[p]}});
      }
    }
    if (!sends.empty()) out.rounds.push_back(std::move(sends));
    return out;
  }
  const Holders targets = holders_of(to);
  const auto wanted = wanted_by_device(targets);
  const Holders sources = from.shape.sum > 1 ? add_sums(from, wanted, element, out) : holders_of(from);
  const auto held = wanted_by_device(sources);
  std::vector<Need> needs;
  for (const auto& [box, devices] : targets) {
    for (DeviceId d : devices) {
      if (!has(held, d, box)) needs.push_back({d, box});
    }
  }
  if (needs.empty()) return out;
  Round round = collective_round(needs, sources, element, cluster);
  if (!round.empty()) out.rounds.push_back(std::move(round));
  if (!needs.empty()) point_to_point(needs, sources, element, cluster, out);
  return out;
}

std::vector<std::vector<DeviceId>> sum_groups(const Layout& l) {
  std::map<std::pair<int, std::vector<int>>, std::vector<DeviceId>> groups;
  for (int p = 0; p < l.shape.shards(); ++p) {
    const pcg::ShardIndex i = pcg::shard_index(l.shape, p);
    groups[{i.copy, i.block}].push_back(l.devices[static_cast<std::size_t>(p)]);
  }
  std::vector<std::vector<DeviceId>> out;
  for (auto& [key, devices] : groups) {
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    if (devices.size() > 1) out.push_back(std::move(devices));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace sim
