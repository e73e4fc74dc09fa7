#include "sim/folding/folding.hpp"

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/folding/refinement.hpp"

namespace sim {
namespace {

// A device in two collectives of one round runs one after the other, which is not symmetric: such programs are not folded.
bool rounds_overlap(const Traffic& traffic, const topology::Cluster& cluster) {
  std::vector<std::uint32_t> last(static_cast<std::size_t>(cluster.device_count()), 0);  // per device: the last round that it was in
  std::uint32_t number = 0;
  for (const auto& rounds : traffic.of_movement) {
    for (const auto& round : rounds) {
      ++number;
      for (const std::uint32_t i : round) {
        if (traffic.transfers[i].kind == CollectiveKind::send) continue;
        for (const base::DeviceId d : traffic.transfers[i].members)
          if (std::exchange(last[d.value], number) == number) return true;
      }
    }
  }
  return false;
}

std::vector<std::uint32_t> classes_of(std::span<const base::DeviceId> devices, const Colours& c) {
  std::set<std::uint32_t> s;
  for (base::DeviceId d : devices) s.insert(c.device[d.value]);
  return {s.begin(), s.end()};
}

std::uint64_t crossing_key(std::uint32_t strand_colour, std::uint32_t link_class) {
  return std::uint64_t{strand_colour} << 32U | link_class;
}

class Folder {
 public:
  Folder(const Traffic& traffic, const topology::Cluster& cluster, const Colours& colours)
      : traffic_(traffic), cluster_(cluster), colours_(colours) {}
  Folded run() {
    fold_devices();
    fold_links();
    fold_transfers();
    return std::move(out_);
  }

 private:
  void fold_devices() {
    out_.class_of = colours_.device;
    for (std::size_t d = 0; d < colours_.device.size(); ++d) {
      const std::uint32_t c = colours_.device[d];
      if (c == Folded::kUnused) continue;
      if (c >= out_.sizes.size()) {
        out_.sizes.resize(c + 1, 0);
        out_.representatives.resize(c + 1);
      }
      if (out_.sizes[c]++ == 0) out_.representatives[c] = base::DeviceId(d);
    }
  }

  void fold_links() {
    std::vector<std::uint32_t> representative;
    constexpr std::uint32_t kNone = 0xffffffff;
    for (std::size_t l = 0; l < traffic_.links.size(); ++l) {
      const std::uint32_t c = colours_.link[l];
      if (c >= representative.size()) representative.resize(c + 1, kNone);
      if (representative[c] == kNone) representative[c] = static_cast<std::uint32_t>(l);
    }
    // All links of a class carry the same: one of them stands for the class.
    for (std::uint32_t l : representative) out_.links.push_back(cluster_.link(traffic_.links[l]).bandwidth);
    for (std::size_t s = 0; s < traffic_.strands.size(); ++s)
      for (const StrandLink& l : traffic_.links_of(traffic_.strands[s]))
        if (representative[colours_.link[l.link]] == l.link) crossings_[crossing_key(colours_.strand[s], colours_.link[l.link])] += l.flows;
  }

  void fold_transfers() {
    out_.of_movement.resize(traffic_.of_movement.size());
    for (std::size_t m = 0; m < traffic_.of_movement.size(); ++m) {
      for (const auto& round : traffic_.of_movement[m]) {
        auto& classes = out_.of_movement[m].emplace_back();
        std::map<std::uint32_t, std::uint32_t> index;  // colour -> transfer class
        for (std::uint32_t t : round) {
          const auto [it, fresh] = index.try_emplace(colours_.transfer[t], static_cast<std::uint32_t>(out_.transfers.size()));
          if (fresh) {
            classes.push_back(it->second);
            out_.transfers.push_back(make_class(t));
          } else {
            ++out_.transfers[it->second].count;
          }
        }
      }
    }
  }

  TransferClass make_class(std::uint32_t transfer) {
    const TrafficTransfer& t = traffic_.transfers[transfer];
    TransferClass c;
    c.representative = transfer;
    c.kind = t.kind;
    const auto all = classes_of(t.members, colours_);
    // A message waits for its sender and concerns its receiver; a collective waits for all and concerns all.
    c.waits_for = t.kind == CollectiveKind::send ? classes_of(std::span(t.members).first(1), colours_) : all;
    c.delivers_to = t.kind == CollectiveKind::send ? classes_of(std::span(t.members).last(1), colours_) : all;
    for (base::Seconds d : t.delays) c.phases.push_back({d, {}});
    std::set<std::uint32_t> seen;
    for (std::uint32_t n = t.strands_begin; n < t.strands_end; ++n) {
      const Strand& strand = traffic_.strands[n];
      // The strands of one colour become one, whose weights on links say how many flows there were.
      if (seen.insert(colours_.strand[n]).second) c.phases[strand.phase].flows.push_back({route_of(n), strand.bytes * strand.wire_factor});
    }
    return c;
  }

  std::uint32_t route_of(std::uint32_t strand) {
    // The strands of a colour cross a link of a class as often as all of them cross the representative together.
    const std::uint32_t colour = colours_.strand[strand];
    std::set<std::uint32_t> classes;
    for (const StrandLink& l : traffic_.links_of(traffic_.strands[strand])) classes.insert(colours_.link[l.link]);
    std::vector<WeightedLink> route;
    for (const std::uint32_t c : classes) route.push_back({c, static_cast<double>(crossings_.at(crossing_key(colour, c)))});
    const auto [it, fresh] = routes_.try_emplace(std::move(route), static_cast<std::uint32_t>(out_.routes.size()));
    if (fresh) out_.routes.push_back(it->first);
    return it->second;
  }

  const Traffic& traffic_;
  const topology::Cluster& cluster_;
  const Colours& colours_;
  Folded out_;
  // By strand colour and class of links: flows of the colour that cross the representative of the class.
  std::unordered_map<std::uint64_t, std::uint32_t> crossings_;
  std::map<std::vector<WeightedLink>, std::uint32_t> routes_;
};

}  // namespace

Folded fold(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  if (rounds_overlap(traffic, cluster)) return without_folding(program, traffic, cluster);
  return Folder(traffic, cluster, refine(program, traffic, cluster)).run();
}

Folded without_folding(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  return Folder(traffic, cluster, all_distinct(program, traffic, cluster)).run();
}

}  // namespace sim
