#include "sim/dataflow/movement.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "sim/dataflow/holders.hpp"

namespace sim {
namespace {

using base::DeviceId;

// The blocks that each device wants (several when points share a device).
using Wanted = std::map<DeviceId, std::vector<Box>>;

Wanted wanted_by_device(const Holders& h) {
  Wanted w;
  for (const Holders::Held& held : h.all())
    for (const DeviceId d : held.devices) w[d].push_back(held.box);
  return w;
}

// Devices that hold partial sums of one block, ascending.
struct SumGroup {
  Box block;
  std::vector<DeviceId> devices;
};

std::vector<SumGroup> groups_of_sums(const Layout& from) {
  std::map<std::pair<int, Box>, std::vector<DeviceId>> groups;  // by copy and block: the devices by sum index
  for (int p = 0; p < from.shape.shards(); ++p) {
    const pcg::ShardIndex i = pcg::shard_index(from.shape, p);
    groups[{i.copy, box_of(from.shape, i)}].push_back(from.devices[static_cast<std::size_t>(p)]);
  }
  std::vector<SumGroup> out;
  for (auto& [key, members] : groups) {
    make_ascending(members);
    out.push_back({key.second, std::move(members)});
  }
  return out;
}

// The one block of the tensor that the device wants; null where it wants none or several.
const Box* wanted_by(DeviceId d, const Wanted& wanted) {
  const auto it = wanted.find(d);
  return it == wanted.end() || it->second.size() != 1 ? nullptr : &it->second.front();
}

// Which parts of its block each member of a group takes when they share the sums out among them.
using Shares = std::vector<std::vector<Box>>;

// The block that each member wants itself; none where these are not equal and disjoint.
Shares own_shares(const SumGroup& group, const Wanted& wanted) {
  Shares shares;
  std::set<Box> parts;
  for (DeviceId d : group.devices) {
    const Box* box = wanted_by(d, wanted);
    if (box == nullptr) return {};
    const Box part = intersect(group.block, *box);
    if (part.volume() == 0 || !parts.insert(part).second || part.volume() != parts.begin()->volume()) return {};
    shares.push_back({part});
  }
  return shares;
}

double volume_of(const Shares& shares) {
  double v = 0;
  for (const std::vector<Box>& parts : shares)
    for (const Box& part : parts) v += part.volume();
  return v;
}

// Where tensor-parallel ranks of experts hold sums of other ranks' tokens too: member i takes what all the groups' members i want, and an
// all-to-all among those then brings each its own.
class SharesForOthers {
 public:
  // Its arguments outlive the object. Cost: O(members of all groups).
  SharesForOthers(const std::vector<SumGroup>& all, const Wanted& wanted, const Holders& targets) : targets_(targets) {
    for (const SumGroup& group : all) {
      is_even_ = is_even_ && group.devices.size() == all.front().devices.size();
      for (std::size_t i = 0; i < group.devices.size(); ++i) {
        is_even_ = is_even_ && wanted_by(group.devices[i], wanted) != nullptr;
        places_[group.devices[i]].push_back(i);
      }
    }
  }

  // Nothing where that does not come out even. Cost: O(what is wanted of the group's block).
  [[nodiscard]] Shares of(const SumGroup& group) const {
    if (!is_even_) return {};
    Shares shares(group.devices.size());
    std::vector<Box> parts;
    double volume_of_part = 0;
    bool is_even = true;
    targets_.each_in(group.block, [&](const Holders::Held& held, double volume) {
      for (const DeviceId d : held.devices)
        for (const std::size_t i : places_of(d)) {
          if (parts.empty()) volume_of_part = volume;
          is_even = is_even && volume == volume_of_part;
          shares[i].push_back(parts.emplace_back(intersect(group.block, held.box)));
        }
    });
    std::ranges::sort(parts);
    is_even = is_even && std::ranges::adjacent_find(parts) == parts.end() &&
              static_cast<double>(parts.size()) * volume_of_part == group.block.volume() &&
              std::ranges::all_of(shares, [&](const auto& parts_of) { return parts_of.size() == shares.front().size(); });
    return is_even ? shares : Shares{};
  }

 private:
  [[nodiscard]] std::span<const std::size_t> places_of(DeviceId d) const {
    const auto at = places_.find(d);
    return at == places_.end() ? std::span<const std::size_t>() : std::span<const std::size_t>(at->second);
  }

  const Holders& targets_;
  bool is_even_ = true;                                  // all groups are of one size, and each member wants one block
  std::map<DeviceId, std::vector<std::size_t>> places_;  // among the members of its groups
};

struct AddedSums {
  Round round;    // empty: nothing to add
  Holders after;  // who holds what then
};

// Adds up partial sums, by a reduce-scatter where all want equal shares, else by an all-reduce. Cost: O(n log n), n shards of both layouts.
AddedSums add_sums(const Layout& from, const Wanted& wanted, const Holders& targets, base::Bytes element) {
  const std::vector<SumGroup> groups = groups_of_sums(from);
  std::optional<SharesForOthers> for_others;
  // Nothing where all want all of it, or parts that are not even.
  const auto shares_of = [&](const SumGroup& group) -> Shares {
    if (group.devices.size() < 2) return {};
    Shares own = own_shares(group, wanted);
    if (own.empty() || volume_of(own) == group.block.volume()) return own;
    if (!for_others) for_others.emplace(groups, wanted, targets);
    return for_others->of(group);
  };
  Round round;
  std::map<Box, std::vector<DeviceId>> after;
  for (const SumGroup& group : groups) {
    const Shares shares = shares_of(group);
    if (group.devices.size() > 1) {
      const CollectiveKind kind = shares.empty() ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
      round.push_back({kind, element * group.block.volume(), group.devices});
    }
    for (std::size_t i = 0; i < group.devices.size(); ++i)
      for (const Box& part : shares.empty() ? std::vector<Box>{group.block} : shares[i]) after[part].push_back(group.devices[i]);
  }
  return {std::move(round), Holders(after)};
}

struct Need {
  DeviceId device;
  Box box;
};

bool has(const Wanted& held, DeviceId d, const Box& box) {
  const auto it = held.find(d);
  return it != held.end() && std::ranges::any_of(it->second, [&](const Box& b) { return b.contains(box); });
}

// The devices, ascending, that are in a domain.
std::span<const DeviceId> in_domain(std::span<const DeviceId> devices, int domain, const topology::Cluster& cluster) {
  const std::span<const DeviceId> of_domain = cluster.domain_devices(domain);
  return {std::ranges::lower_bound(devices, of_domain.front()), std::ranges::upper_bound(devices, of_domain.back())};
}

// The holder that serves `d`: itself, then one in its domain, then spread by the destination's place within its domain.
DeviceId pick(std::span<const DeviceId> holders, DeviceId d, const topology::Cluster& cluster) {
  const std::span<const DeviceId> near = in_domain(holders, cluster.device(d).domain, cluster);
  if (std::ranges::binary_search(near, d)) return d;
  const std::span<const DeviceId> from = near.empty() ? holders : near;
  return from[static_cast<std::size_t>(cluster.device(d).index_in_domain) % from.size()];
}

// Needs by the devices that serve them together, each of which has an equal part of what is needed, the needy one too.
std::map<std::vector<DeviceId>, std::vector<std::size_t>> regular_needs(const std::vector<Need>& needs, const Holders& sources,
                                                                        const topology::Cluster& cluster) {
  std::map<std::vector<DeviceId>, std::vector<std::size_t>> by_group;
  for (std::size_t k = 0; k < needs.size(); ++k) {
    std::vector<DeviceId> group;
    double volume = 0;  // of each part
    bool is_even = true;
    sources.each_in(needs[k].box, [&](const Holders::Held& held, double v) {
      if (group.empty()) volume = v;
      is_even = is_even && v == volume;
      if (is_even) group.push_back(pick(held.devices, needs[k].device, cluster));
    });
    std::sort(group.begin(), group.end());
    const bool regular = is_even && std::ranges::binary_search(group, needs[k].device) && group.size() > 1 &&
                         std::adjacent_find(group.begin(), group.end()) == group.end();
    if (regular) by_group[group].push_back(k);
  }
  return by_group;
}

// Adds what serves the needs of a group's members, whose blocks are `wanted`: an all-gather where they want one block, an all-to-all where
// each wants another. Where each block is wanted by several (experts that are cut by tensor parallelism), all-to-alls side by side bring
// each a share of its block, and those who want the same gather it. Returns whether it comes out even.
bool add_collectives(const std::map<Box, std::vector<DeviceId>>& wanted, const std::vector<DeviceId>& group, base::Bytes element,
                     Round& first, Round& second) {
  const std::size_t copies = wanted.begin()->second.size();
  if (copies * wanted.size() != group.size()) return false;
  if (std::ranges::any_of(wanted, [&](const auto& w) { return w.second.size() != copies; })) return false;
  const base::Bytes block = element * wanted.begin()->first.volume();
  for (std::size_t i = 0; wanted.size() > 1 && i < copies; ++i) {
    std::vector<DeviceId> across;
    for (const auto& [box, devices] : wanted) across.push_back(devices[i]);
    std::sort(across.begin(), across.end());
    first.push_back({CollectiveKind::all_to_all, block / static_cast<double>(copies), std::move(across)});
  }
  if (copies > 1)
    for (const auto& [box, devices] : wanted) (wanted.size() > 1 ? second : first).push_back({CollectiveKind::all_gather, block, devices});
  return true;
}

// All-gathers and all-to-alls: sets of devices that hold disjoint blocks of equal size, each of which wants equal parts of all.
// Needs that are served are removed from `needs`.
void add_collective_rounds(std::vector<Need>& needs, const Holders& sources, base::Bytes element, const topology::Cluster& cluster,
                           Movement& out) {
  Round first, second;
  std::set<std::size_t> served;
  for (const auto& [group, members] : regular_needs(needs, sources, cluster)) {
    std::map<Box, std::vector<DeviceId>> wanted;
    for (std::size_t k : members) wanted[needs[k].box].push_back(needs[k].device);
    for (auto& [box, devices] : wanted) std::sort(devices.begin(), devices.end());
    if (add_collectives(wanted, group, element, first, second)) served.insert(members.begin(), members.end());
  }
  if (!first.empty()) out.rounds.push_back(std::move(first));
  if (!second.empty()) out.rounds.push_back(std::move(second));
  std::vector<Need> rest;
  for (std::size_t k = 0; k < needs.size(); ++k) {
    if (!served.contains(k)) rest.push_back(std::move(needs[k]));
  }
  needs = std::move(rest);
}

// `gathers_copies`: copies are shared out where no holder is in their domain.
// Returns: whether no device sends more messages than `most_messages`; else `out` has none.
bool point_to_point(const std::vector<Need>& needs, const Holders& sources, base::Bytes element, const topology::Cluster& cluster,
                    bool gathers_copies, std::size_t most_messages, Movement& out) {
  std::map<std::pair<DeviceId, DeviceId>, double> messages;
  std::map<DeviceId, std::size_t> sent;
  bool is_within = true;
  Round gathers;
  // Equal copies wanted in one domain: each takes a share of the block from outside, and they gather it among themselves.
  std::map<std::pair<Box, int>, std::vector<DeviceId>> copies;
  for (const Need& n : needs) copies[{n.box, cluster.device(n.device).domain}].push_back(n.device);
  for (const auto& [wanted, devices] : copies) {
    const auto& [box, domain] = wanted;
    const auto n = static_cast<double>(devices.size());
    bool share = gathers_copies && devices.size() > 1;
    sources.each_in(box,
                    [&, in = domain](const Holders::Held& held, double) { share = share && in_domain(held.devices, in, cluster).empty(); });
    for (const DeviceId d : devices) {
      sources.each_in(box, [&](const Holders::Held& held, double v) {
        const DeviceId h = pick(held.devices, d, cluster);
        if (h == d || !is_within) return;
        const auto [message, is_new] = messages.try_emplace({h, d});
        message->second += share ? v / n : v;
        is_within = !is_new || ++sent[h] <= most_messages;
      });
      if (!is_within) return false;
    }
    if (share) gathers.push_back({CollectiveKind::all_gather, element * box.volume(), devices});
  }
  Round sends;
  for (const auto& [ends, volume] : messages) sends.push_back({CollectiveKind::send, element * volume, {ends.first, ends.second}});
  if (!sends.empty()) out.rounds.push_back(std::move(sends));
  if (!gathers.empty()) out.rounds.push_back(std::move(gathers));
  return true;
}

}  // namespace

std::optional<Movement> reshard_within(const Layout& from, const Layout& to, base::Bytes element, const topology::Cluster& cluster,
                                       std::size_t most_messages, bool gathers_copies) {
  Movement out;
  if (from == to) return out;
  BASE_CHECK(from.shape.sum == to.shape.sum || to.shape.sum == 1, "cannot go from {} to {}", pcg::to_text(from.shape),
             pcg::to_text(to.shape));
  if (to.shape.sum > 1) {  // partial sums that stay partial: nothing to add, shards are moved one by one where devices differ
    Round sends;
    for (std::size_t p = 0; p < std::min(from.devices.size(), to.devices.size()); ++p) {
      if (from.devices[p] != to.devices[p]) {
        sends.push_back({CollectiveKind::send, element * to.shard_elements(), {from.devices[p], to.devices[p]}});
      }
    }
    if (!sends.empty()) out.rounds.push_back(std::move(sends));
    return out;
  }
  const Holders targets(to);
  const auto wanted = wanted_by_device(targets);
  AddedSums added = from.shape.sum > 1 ? add_sums(from, wanted, targets, element) : AddedSums{{}, Holders(from)};
  if (!added.round.empty()) out.rounds.push_back(std::move(added.round));
  const Holders& sources = added.after;
  const auto held = wanted_by_device(sources);
  std::vector<Need> needs;
  for (const Holders::Held& target : targets.all())
    for (const DeviceId d : target.devices)
      if (!has(held, d, target.box)) needs.push_back({d, target.box});
  if (needs.empty()) return out;
  add_collective_rounds(needs, sources, element, cluster, out);
  if (!needs.empty() && !point_to_point(needs, sources, element, cluster, gathers_copies, most_messages, out)) return std::nullopt;
  return out;
}

Movement reshard(const Layout& from, const Layout& to, base::Bytes element, const topology::Cluster& cluster, pcg::BetweenStages how) {
  Movement out = reshard_within(from, to, element, cluster, SIZE_MAX, how == pcg::BetweenStages::local_all_gather).value();
  if (how == pcg::BetweenStages::signal)
    for (Round& round : out.rounds)
      for (Transfer& t : round)
        if (t.kind == CollectiveKind::send) t.bytes = base::Bytes(1);
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
    make_ascending(devices);
    if (devices.size() > 1) out.push_back(std::move(devices));
  }
  make_ascending(out);
  return out;
}

bool only_gathers(const Movement& movement) {
  return std::ranges::all_of(movement.rounds, [](const Round& round) {
    return std::ranges::all_of(round, [](const Transfer& t) { return t.kind == CollectiveKind::all_gather; });
  });
}

}  // namespace sim
