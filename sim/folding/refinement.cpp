#include "sim/folding/refinement.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "sim/folding/folding.hpp"

namespace sim {
namespace {

using Signature = std::vector<std::uint64_t>;

// Numbers signatures 0, 1, .. in lexicographic order, so that colours do not depend on how they were found.
class Palette {
 public:
  explicit Palette(const std::vector<Signature>& signatures) {
    for (const Signature& s : signatures) numbers_.emplace(s, 0);
    std::uint32_t n = 0;
    for (auto& [s, number] : numbers_) number = n++;
  }
  [[nodiscard]] std::uint32_t of(const Signature& s) const { return numbers_.at(s); }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Signature, std::uint32_t> numbers_;
};

std::size_t recolour(std::vector<std::uint32_t>& colours, const std::vector<Signature>& signatures) {
  const Palette palette(signatures);
  for (std::size_t i = 0; i < colours.size(); ++i) {
    if (colours[i] != Folded::kUnused) colours[i] = palette.of(signatures[i]);
  }
  return palette.size();
}

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

// Each colour_*() takes the colours of the others as they are and splits its own classes by them.
class Refiner {
 public:
  Refiner(const Program& program, const Traffic& traffic, const topology::Cluster& cluster)
      : program_(program), traffic_(traffic), cluster_(cluster) {}
  Colours run() &&;

 private:
  void start();
  void start_devices();
  void colour_flows();
  void colour_transfers();
  std::size_t colour_devices();  // returns the number of classes
  std::size_t colour_links();    // the same

  const Program& program_;
  const Traffic& traffic_;
  const topology::Cluster& cluster_;
  Colours colours_;
};

std::vector<bool> used_devices(const Program& program, const topology::Cluster& cluster) {
  std::vector<bool> used(static_cast<std::size_t>(cluster.device_count()), false);
  for (const auto& set : program.device_sets) {
    for (base::DeviceId d : set) used[d.value] = true;
  }
  for (const Movement& m : program.movements) {
    for (const Round& r : m.rounds) {
      for (const Transfer& t : r) {
        for (base::DeviceId d : t.group) used[d.value] = true;
      }
    }
  }
  return used;
}

// By what differs from the start: the type and memory of a device, and the sets that it is in: which operators it runs.
void Refiner::start_devices() {
  const auto used = used_devices(program_, cluster_);
  std::map<std::string, std::uint64_t> types;
  for (const auto& device : cluster_.devices()) types.emplace(device.type, types.size());
  std::vector<Signature> signatures(used.size());
  colours_.device.assign(used.size(), 0);
  for (std::size_t d = 0; d < used.size(); ++d) {
    const auto& device = cluster_.devices()[d];
    if (!used[d]) colours_.device[d] = Folded::kUnused;
    else signatures[d] = {types.at(device.type), device.memory ? bits(device.memory->value()) : 0};
  }
  for (std::size_t s = 0; s < program_.device_sets.size(); ++s) {
    for (base::DeviceId d : program_.device_sets[s]) signatures[d.value].push_back(s);
  }
  recolour(colours_.device, signatures);
}

// By bandwidth, latency and type: flows over links of another kind wait for another time.
void Refiner::start() {
  start_devices();
  std::map<std::string, std::uint64_t> types;
  for (topology::LinkId l : traffic_.links) types.emplace(cluster_.link(l).type, types.size());
  std::vector<Signature> links;
  for (topology::LinkId l : traffic_.links) {
    const topology::Link& link = cluster_.link(l);
    links.push_back({bits(link.bandwidth.value()), bits(link.latency.value()), types.at(link.type)});
  }
  colours_.link.assign(links.size(), 0);
  recolour(colours_.link, links);
  colours_.transfer.assign(traffic_.transfers.size(), 0);
  for (const auto& t : traffic_.transfers) colours_.flow.emplace_back(t.flows.size(), 0);
}

void Refiner::colour_flows() {
  std::vector<Signature> signatures;
  for (const TrafficTransfer& t : traffic_.transfers) {
    for (const TrafficFlow& f : t.flows) {
      Signature s{t.movement.value,           t.round, f.phase, bits(f.bytes.value()), bits(f.wire_factor), colours_.device[f.from.value],
                  colours_.device[f.to.value]};
      for (std::uint32_t l : f.links) s.push_back(colours_.link[l]);
      signatures.push_back(std::move(s));
    }
  }
  const Palette palette(signatures);
  std::size_t k = 0;
  for (auto& flows : colours_.flow) {
    for (std::uint32_t& c : flows) c = palette.of(signatures[k++]);
  }
}

void Refiner::colour_transfers() {
  std::vector<Signature> signatures;
  for (std::size_t i = 0; i < traffic_.transfers.size(); ++i) {
    const TrafficTransfer& t = traffic_.transfers[i];
    Signature s{t.movement.value, t.round, static_cast<std::uint64_t>(t.kind), t.delays.size(), t.members.size()};
    for (base::Seconds d : t.delays) s.push_back(bits(d.value()));
    Signature members;
    for (base::DeviceId d : t.members) members.push_back(colours_.device[d.value]);
    // A send has a sender and a broadcast a root; in other collectives all members are alike.
    if (t.kind != CollectiveKind::send && t.kind != CollectiveKind::broadcast) std::sort(members.begin(), members.end());
    s.insert(s.end(), members.begin(), members.end());
    Signature flows(colours_.flow[i].begin(), colours_.flow[i].end());
    std::sort(flows.begin(), flows.end());
    s.insert(s.end(), flows.begin(), flows.end());
    signatures.push_back(std::move(s));
  }
  recolour(colours_.transfer, signatures);
}

std::size_t Refiner::colour_devices() {
  std::vector<Signature> taking_part(colours_.device.size()), sending(colours_.device.size()), receiving(colours_.device.size());
  for (std::size_t i = 0; i < traffic_.transfers.size(); ++i) {
    const TrafficTransfer& t = traffic_.transfers[i];
    for (base::DeviceId d : t.members) taking_part[d.value].push_back(colours_.transfer[i]);
    for (std::size_t f = 0; f < t.flows.size(); ++f) {
      sending[t.flows[f].from.value].push_back(colours_.flow[i][f]);
      receiving[t.flows[f].to.value].push_back(colours_.flow[i][f]);
    }
  }
  std::vector<Signature> signatures(colours_.device.size());
  for (std::size_t d = 0; d < signatures.size(); ++d) {
    signatures[d] = {colours_.device[d]};
    for (Signature* part : {&taking_part[d], &sending[d], &receiving[d]}) {
      std::sort(part->begin(), part->end());
      signatures[d].push_back(part->size());
      signatures[d].insert(signatures[d].end(), part->begin(), part->end());
    }
  }
  return recolour(colours_.device, signatures);
}

std::size_t Refiner::colour_links() {
  std::vector<Signature> crossing(colours_.link.size());
  for (std::size_t i = 0; i < traffic_.transfers.size(); ++i) {
    for (std::size_t f = 0; f < traffic_.transfers[i].flows.size(); ++f) {
      for (std::uint32_t l : traffic_.transfers[i].flows[f].links) crossing[l].push_back(colours_.flow[i][f]);
    }
  }
  for (std::size_t l = 0; l < crossing.size(); ++l) {
    std::sort(crossing[l].begin(), crossing[l].end());
    crossing[l].insert(crossing[l].begin(), colours_.link[l]);
  }
  return recolour(colours_.link, crossing);
}

Colours Refiner::run() && {
  start();
  std::size_t before = 0;
  while (true) {
    colour_flows();
    colour_transfers();
    const std::size_t now = colour_devices() + colour_links();
    if (now == before) break;  // each round only splits classes, so an equal count is an equal partition
    before = now;
  }
  // Flows and transfers once more, by the last colours of devices and links.
  colour_flows();
  colour_transfers();
  return std::move(colours_);
}

}  // namespace

Colours refine(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  return Refiner(program, traffic, cluster).run();
}

Colours all_apart(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  Colours c;
  const auto used = used_devices(program, cluster);
  std::uint32_t next = 0;
  for (bool u : used) c.device.push_back(u ? next++ : Folded::kUnused);
  for (std::size_t l = 0; l < traffic.links.size(); ++l) c.link.push_back(static_cast<std::uint32_t>(l));
  std::uint32_t flow = 0;
  for (std::size_t t = 0; t < traffic.transfers.size(); ++t) {
    c.transfer.push_back(static_cast<std::uint32_t>(t));
    auto& flows = c.flow.emplace_back();
    for (std::size_t f = 0; f < traffic.transfers[t].flows.size(); ++f) flows.push_back(flow++);
  }
  return c;
}

}  // namespace sim
