#pragma once
// Seconds that it takes to bring a tensor from one layout to another, alone on the cluster.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/problem/problem.hpp"
#include "sim/dataflow/layout.hpp"
#include "sim/dataflow/movement.hpp"

namespace search {

using LayoutNumber = std::uint32_t;

// Remembers what it was asked: degrees and devices of both layouts say who sends to whom, and the tensor's size how much, so that tensors
// of many sizes share what is found out. Sizes between powers of four are interpolated: time grows with bytes along straight lines, which
// bend where another algorithm or protocol is quicker. Collectives take what their busiest links need (sim/oracle.hpp). Not for several
// threads at once.
class MovementCosts {
 public:
  // The problem outlives the object.
  explicit MovementCosts(const Problem& problem);

  // Equal layouts have one number.
  [[nodiscard]] LayoutNumber number(const sim::Layout& layout);
  // Requires: what sim::reshard() does. Cost: reshard() and the oracle's rounds for each pair of patterns and power of four, once.
  [[nodiscard]] double seconds(LayoutNumber from, LayoutNumber to);
  // A bound of it from the bytes that a device or a domain does not have and needs, and what its links let in. Cost: O(devices x devices of
  // a domain) for each pair of patterns, once.
  [[nodiscard]] double at_least(LayoutNumber from, LayoutNumber to);
  // Of rounds one after another, each as long as its transfers need or the busiest host to launch them, whichever is longer.
  [[nodiscard]] double seconds(const sim::Movement& movement) const;
  // Of adding up partial sums where they lie, so many bytes of each. Interpolated as movements are.
  [[nodiscard]] double all_reduce_seconds(LayoutNumber sums, base::Bytes bytes);

  static constexpr std::size_t kMostDims = 5;  // of more, the last ones count as whole: bounds are the lower
  // A part of a tensor, as shares of its dims: where it begins and ends in each, and which summand it is of.
  struct Box {
    int sum = 0;
    std::size_t dims = 0;
    std::array<double, kMostDims> begin{}, end{};
    bool operator==(const Box&) const = default;
  };

 private:
  // What each device and each domain has of a tensor, ascending.
  struct Spread {
    std::vector<std::pair<std::uint32_t, std::vector<Box>>> on_device;
    std::vector<std::pair<int, std::vector<Box>>> in_domain;
  };
  struct Numbered {
    std::uint32_t pattern;
    double bytes;  // of the whole tensor
  };
  // Seconds by the power of four of the tensor's bytes, or of a summand's.
  struct Curve {
    sim::Movement movement;  // of a tensor of kUnit bytes
    std::vector<std::optional<double>> at;
  };
  // Two layouts of a tensor whose sizes both cuts divide: who sends what share to whom does not depend on them.
  struct Ends {
    sim::Layout from, to;
    double elements;
  };
  [[nodiscard]] Ends ends(std::uint32_t from, std::uint32_t to) const;
  struct Bound {
    double latency = 0, seconds_per_byte = 0;
  };
  [[nodiscard]] Bound bound(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] Spread spread_of(const sim::Layout& layout) const;
  [[nodiscard]] Curve& curve(std::uint32_t from, std::uint32_t to);
  [[nodiscard]] double at_power(Curve& curve, int power) const;
  [[nodiscard]] double on_curve(Curve& curve, double bytes) const;

  const Problem& problem_;
  sim::Oracle oracle_;                                           // which bounds collectives by their busiest links: they are many
  double launch_;                                                // seconds of host time, of a collective or a message
  std::map<std::vector<std::int64_t>, std::uint32_t> patterns_;  // by degrees and devices
  std::vector<sim::Layout> example_;                             // per pattern
  std::vector<Spread> spreads_;                                  // per pattern
  std::map<std::pair<std::uint32_t, double>, LayoutNumber> numbers_;
  std::vector<Numbered> layouts_;
  std::unordered_map<std::uint64_t, Curve> curves_;  // by both patterns
  std::unordered_map<std::uint32_t, Curve> sums_;    // all-reduces, by pattern
  std::unordered_map<std::uint64_t, Bound> bounds_;  // by both patterns
  double latency_inside_ = 0, latency_between_ = 0;  // of a message inside a domain, and between two
  std::vector<double> into_device_, into_domain_;    // bytes per second
};

}  // namespace search
