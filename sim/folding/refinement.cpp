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

struct Refiner {
  const Program& program;
  const Traffic& traffic;
  const topology::Cluster& cluster;
  Colours colours;

  void start();
  void colour_flows();
  void colour_transfers();
  std::size_t colour_devices();
  std::size_t colour_links();
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

void Refiner::start() {
  const auto used = used_devices(program, cluster);
  std::map<std::string, std::uint64_t> types;
  for (const auto& device : cluster.devices()) types.emplace(device.type, types.size());
  std::vector<Signature> signatures(used.size());
  colours.device.assign(used.size(), 0);
  for (std::size_t d = 0; d < used.size(); ++d) {
    const auto& device = cluster.devices()[d];
    if (!used[d]) colours.device[d] = Folded::kUnused;
    else signatures[d] = {types.at(device.type), device.memory ? bits(device.memory->value()) : 0};
  }
  for (std::size_t s = 0; s < program.device_sets.size(); ++s) {
    for (base::DeviceId d : program.device_sets[s]) signatures[d.value].push_back(s);
  }
  recolour(colours.device, signatures);
  std::vector<Signature> links;
  for (topology::LinkId l : traffic.links) links.push_back({bits(cluster.link(l).bandwidth.value())});
  colours.link.assign(links.size(), 0);
  recolour(colours.link, links);
  colours.transfer.assign(traffic.transfers.size(), 0);
  for (const auto& t : traffic.transfers) colours.flow.emplace_back(t.flows.size(), 0);
}

void Refiner::colour_flows() {
  std::vector<Signature> signatures;
  for (const TrafficTransfer& t : traffic.transfers) {
    for (const TrafficFlow& f : t.flows) {
      Signature s{t.movement.value,          t.round, f.phase, bits(f.bytes.value()), bits(f.wire_factor), colours.device[f.from.value],
                  colours.device[f.to.value]};
      for (std::uint32_t l : f.links) s.push_back(colours.link[l]);
      signatures.push_back(std::move(s));
    }
  }
  const Palette palette(signatures);
  std::size_t k = 0;
  for (auto& flows : colours.flow) {
    for (std::uint32_t& c : flows) c = palette.of(signatures[k++]);
  }
}

void Refiner::colour_transfers() {
  std::vector<Signature> signatures;
  for (std::size_t i = 0; i < traffic.transfers.size(); ++i) {
    const TrafficTransfer& t = traffic.transfers[i];
    Signature s{t.movement.value, t.round, static_cast<std::uint64_t>(t.kind), t.delays.size(), t.members.size()};
    for (base::Seconds d : t.delays) s.push_back(bits(d.value()));
    Signature members;
    for (base::DeviceId d : t.members) members.push_back(colours.device[d.value]);
    if (t.kind != CollectiveKind::send && t.kind != CollectiveKind::broadcast) std::sort(members.begin(), members.end());
    s.insert(s.end(), members.begin(), members.end());
    Signature flows(colours.flow[i].begin(), colours.flow[i].end());
    std::sort(flows.begin(), flows.end());
    s.insert(s.end(), flows.begin(), flows.end());
    signatures.push_back(std::move(s));
  }
  recolour(colours.transfer, signatures);
}

std::size_t Refiner::colour_devices() {
  std::vector<Signature> taking_part(colours.device.size()), sending(colours.device.size()), receiving(colours.device.size());
  for (std::size_t i = 0; i < traffic.transfers.size(); ++i) {
    const TrafficTransfer& t = traffic.transfers[i];
    for (base::DeviceId d : t.members) taking_part[d.value].push_back(colours.transfer[i]);
    for (std::size_t f = 0; f < t.flows.size(); ++f) {
      sending[t.flows[f].from.value].push_back(colours.flow[i][f]);
      receiving[t.flows[f].to.value].push_back(colours.flow[i][f]);
    }
  }
  std::vector<Signature> signatures(colours.device.size());
  for (std::size_t d = 0; d < signatures.size(); ++d) {
    signatures[d] = {colours.device[d]};
    for (Signature* part : {&taking_part[d], &sending[d], &receiving[d]}) {
      std::sort(part->begin(), part->end());
      signatures[d].push_back(part->size());
      signatures[d].insert(signatures[d].end(), part->begin(), part->end());
    }
  }
  return recolour(colours.device, signatures);
}

std::size_t Refiner::colour_links() {
  std::vector<Signature> crossing(colours.link.size());
  for (std::size_t i = 0; i < traffic.transfers.size(); ++i) {
    for (std::size_t f = 0; f < traffic.transfers[i].flows.size(); ++f) {
      for (std::uint32_t l : traffic.transfers[i].flows[f].links) crossing[l].push_back(colours.flow[i][f]);
    }
  }
  for (std::size_t l = 0; l < crossing.size(); ++l) {
    std::sort(crossing[l].begin(), crossing[l].end());
    crossing[l].insert(crossing[l].begin(), colours.link[l]);
  }
  return recolour(colours.link, crossing);
}

}  // namespace

Colours refine(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  Refiner r{program, traffic, cluster, {}};
  r.start();
  std::size_t before = 0;
  while (true) {
    r.colour_flows();
    r.colour_transfers();
    const std::size_t now = r.colour_devices() + r.colour_links();
    if (now == before) break;  // each round only splits classes, so an equal count is an equal partition
    before = now;
  }
  r.colour_flows();
  r.colour_transfers();
  return std::move(r.colours);
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
