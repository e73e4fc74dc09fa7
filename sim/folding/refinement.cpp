#include "sim/folding/refinement.hpp"

#include <bit>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"
#include "sim/folding/folding.hpp"

namespace sim {
namespace {

// The signature of a class: equal for its members alone. Two independent hashes: of a million signatures two that differ are taken for one
// with a probability of 10^-27.
class Signature {
 public:
  // In order.
  Signature& then(std::uint64_t v) {
    first_ = base::mix(first_ ^ (v + base::kGoldenGamma));
    second_ = base::mix(second_ + base::mix(v ^ kOther));
    return *this;
  }
  // In any order: sums of what they are alone.
  Signature& with(std::uint64_t v) {
    first_ += base::mix(v + base::kGoldenGamma);
    second_ += base::mix(base::mix(v ^ kOther));
    return *this;
  }
  Signature& then(const Signature& s) { return then(s.first_).then(s.second_); }
  bool operator==(const Signature&) const = default;
  struct Hasher {
    std::size_t operator()(const Signature& s) const { return s.first_; }
  };

 private:
  static constexpr std::uint64_t kOther = 0xA0761D6478BD642FU;  // any odd number
  std::uint64_t first_ = 1, second_ = 2;
};

// Numbers signatures as they come.
class Palette {
 public:
  std::uint32_t of(const Signature& s) { return numbers_.try_emplace(s, static_cast<std::uint32_t>(numbers_.size())).first->second; }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<Signature, std::uint32_t, Signature::Hasher> numbers_;
};

// Returns: how many colours there are.
std::size_t recolour(std::vector<std::uint32_t>& colours, const std::vector<Signature>& signatures) {
  Palette palette;
  for (std::size_t i = 0; i < colours.size(); ++i)
    if (colours[i] != Folded::kUnused) colours[i] = palette.of(signatures[i]);
  return palette.size();
}

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

// `flows` flows of a strand over a link, which has (or of a strand that has) `colour`.
std::uint64_t crossing(std::uint32_t colour, std::uint32_t flows) { return std::uint64_t{flows} << 32U | colour; }

// A member's role in a transfer: the sender of a message and the root of a broadcast are alone in what they do, in other collectives
// all members are alike.
std::uint64_t role_of(const TrafficTransfer& t, std::size_t member) {
  const bool distinct = t.kind == CollectiveKind::send || t.kind == CollectiveKind::broadcast;
  return distinct && member == 0 ? 1 : 0;
}

std::vector<bool> used_devices(const Program& program, const topology::Cluster& cluster) {
  std::vector<bool> used(static_cast<std::size_t>(cluster.device_count()), false);
  for (const auto& set : program.device_sets)
    for (const base::DeviceId d : set) used[d.value] = true;
  for (const Movement& m : program.movements)
    for (const Round& r : m.rounds)
      for (const Transfer& t : r)
        for (const base::DeviceId d : t.group) used[d.value] = true;
  return used;
}

// Each colour_*() takes the colours of the others as they are and splits its own classes by them. Returns: how many there are then.
class Refiner {
 public:
  Refiner(const Program& program, const Traffic& traffic, const topology::Cluster& cluster)
      : program_(program), traffic_(traffic), cluster_(cluster) {}
  Colours run() && {
    start_devices();
    start_links();
    start_transfers();
    colours_.strand.assign(traffic_.strands.size(), 0);
    // Each round only splits classes, so an equal count is an equal partition.
    for (std::size_t before = 0, now = 1; now != before;) {
      before = now;
      now = colour_strands();
      now += colour_links();
      now += colour_transfers();
      now += colour_devices();
    }
    return std::move(colours_);
  }

 private:
  // By what differs from the start: the type, memory and slowdown of a device, and the sets that it is in: which operators it runs.
  void start_devices() {
    const std::vector<bool> used = used_devices(program_, cluster_);
    std::map<std::string_view, std::uint64_t> types;
    std::vector<Signature> signatures(used.size());
    for (std::size_t d = 0; d < used.size(); ++d) {
      const topology::Device& device = cluster_.devices()[d];
      const std::uint64_t type = types.try_emplace(device.type, types.size()).first->second;
      signatures[d].then(type).then(device.memory ? bits(device.memory->value()) : 0);
      signatures[d].then(bits(device.speed.compute)).then(bits(device.speed.memory)).then(bits(device.speed.power_limit.value()));
      signatures[d].then(bits(device.slowdown)).then(bits(device.host_slowdown));
    }
    for (std::size_t s = 0; s < program_.device_sets.size(); ++s)
      for (const base::DeviceId d : program_.device_sets[s]) signatures[d.value].then(s);
    for (const bool u : used) colours_.device.push_back(u ? 0 : Folded::kUnused);
    recolour(colours_.device, signatures);
  }

  // By bandwidth, latency and type: flows over links of another kind wait for another time.
  void start_links() {
    std::map<std::string_view, std::uint64_t> types;
    std::vector<Signature> signatures;
    for (const topology::LinkId l : traffic_.links) {
      const topology::Link& link = cluster_.link(l);
      const std::uint64_t type = types.try_emplace(link.type, types.size()).first->second;
      const bool slack = traffic_.slack[signatures.size()];
      signatures.push_back(Signature().then(bits(link.bandwidth.value())).then(bits(link.latency.value())).then(type).then(slack ? 1 : 0));
    }
    colours_.link.assign(signatures.size(), 0);
    recolour(colours_.link, signatures);
  }

  void start_transfers() {
    std::vector<Signature> signatures;
    for (const TrafficTransfer& t : traffic_.transfers) {
      Signature& s = signatures.emplace_back();
      s.then(t.movement.value).then(t.round).then(static_cast<std::uint64_t>(t.kind)).then(t.members.size());
      for (const base::Seconds d : t.delays) s.then(bits(d.value()));
    }
    colours_.transfer.assign(signatures.size(), 0);
    recolour(colours_.transfer, signatures);
  }

  std::size_t colour_strands() {
    Palette palette;
    for (std::size_t i = 0; i < traffic_.transfers.size(); ++i) {
      const TrafficTransfer& t = traffic_.transfers[i];
      for (std::uint32_t n = t.strands_begin; n < t.strands_end; ++n) {
        const Strand& strand = traffic_.strands[n];
        Signature crossed;
        for (const StrandLink& l : traffic_.links_of(strand)) crossed.with(crossing(colours_.link[l.link], l.flows));
        Signature s;
        s.then(colours_.transfer[i]).then(strand.phase).then(bits(strand.bytes.value())).then(bits(strand.wire_factor)).then(crossed);
        colours_.strand[n] = palette.of(s);
      }
    }
    return palette.size();
  }

  std::size_t colour_links() {
    std::vector<Signature> signatures(colours_.link.size());
    for (std::size_t n = 0; n < traffic_.strands.size(); ++n)
      for (const StrandLink& l : traffic_.links_of(traffic_.strands[n])) signatures[l.link].with(crossing(colours_.strand[n], l.flows));
    for (std::size_t l = 0; l < signatures.size(); ++l) signatures[l].then(colours_.link[l]);
    return recolour(colours_.link, signatures);
  }

  std::size_t colour_transfers() {
    std::vector<Signature> signatures(traffic_.transfers.size());
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      const TrafficTransfer& t = traffic_.transfers[i];
      for (std::uint32_t n = t.strands_begin; n < t.strands_end; ++n) signatures[i].with(colours_.strand[n]);
      Signature members;
      for (std::size_t m = 0; m < t.members.size(); ++m) members.with(2ULL * colours_.device[t.members[m].value] + role_of(t, m));
      signatures[i].then(members).then(colours_.transfer[i]);
    }
    return recolour(colours_.transfer, signatures);
  }

  std::size_t colour_devices() {
    std::vector<Signature> signatures(colours_.device.size());
    for (std::size_t i = 0; i < traffic_.transfers.size(); ++i) {
      const TrafficTransfer& t = traffic_.transfers[i];
      for (std::size_t m = 0; m < t.members.size(); ++m) signatures[t.members[m].value].with(2ULL * colours_.transfer[i] + role_of(t, m));
    }
    for (std::size_t d = 0; d < signatures.size(); ++d) signatures[d].then(colours_.device[d]);
    return recolour(colours_.device, signatures);
  }

  const Program& program_;
  const Traffic& traffic_;
  const topology::Cluster& cluster_;
  Colours colours_;
};

}  // namespace

Colours refine(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  return Refiner(program, traffic, cluster).run();
}

Colours all_distinct(const Program& program, const Traffic& traffic, const topology::Cluster& cluster) {
  Colours c;
  std::uint32_t next = 0;
  for (const bool u : used_devices(program, cluster)) c.device.push_back(u ? next++ : Folded::kUnused);
  for (std::size_t l = 0; l < traffic.links.size(); ++l) c.link.push_back(static_cast<std::uint32_t>(l));
  for (std::size_t t = 0; t < traffic.transfers.size(); ++t) c.transfer.push_back(static_cast<std::uint32_t>(t));
  for (std::size_t s = 0; s < traffic.strands.size(); ++s) c.strand.push_back(static_cast<std::uint32_t>(s));
  return c;
}

}  // namespace sim
