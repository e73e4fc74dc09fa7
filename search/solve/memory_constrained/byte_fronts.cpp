#include "search/solve/memory_constrained/cheapest_within.hpp"

namespace search {
namespace {

constexpr std::uint32_t kNothing = UINT32_MAX;
constexpr double kSameCost = 1e-9;  // a share of `to_beat`: sums in another order differ by less

// Choices of a bucket's operator and of all below it.
struct Label {
  double excess = 0;  // of the cost with bytes at their multiplier over the least in the same place
  double bytes = 0;
  std::uint32_t made_of = kNothing;  // Step
};

// A label is a choice, or is put together of two.
struct Step {
  std::uint32_t who = BucketTree::kNone, choice = 0;
  std::uint32_t first = kNothing, second = kNothing;
};

class ByteFronts {
 public:
  ByteFronts(const ConstrainedProblem& problem, const BucketTree& tree, double multiplier, double to_beat, const FrontLimits& limits)
      : problem_(problem), tree_(tree), multiplier_(multiplier), to_beat_(to_beat), limits_(limits) {}

  FrontAnswer run() {
    const auto& buckets = tree_.buckets();
    fronts_.resize(buckets.size());
    least_.resize(buckets.size(), 0);
    for (std::size_t k = 0; k < buckets.size(); ++k) {
      const BucketTree::Bucket& b = buckets[k];
      fronts_[k].resize(b.cheapest.size());
      if (b.who != BucketTree::kNone) least_[k] = *std::ranges::min_element(problem_.bytes[b.who]);
      const double own_least = least_[k];
      for (const BucketTree::Child& c : b.children) least_[k] += least_[c.bucket];
      bool is_complete = true;
      BucketTree::for_each_entry(b, [&](std::size_t entry, std::size_t outer, const std::vector<std::size_t>& at) {
        is_complete = is_complete && add_entry(b, fronts_[k][outer], entry, outer, at, own_least);
      });
      if (!is_complete) return {.pairs = pairs_};
      for (std::vector<Label>& front : fronts_[k]) thin_out(front);
      for (const BucketTree::Child& c : b.children) fronts_[c.bucket].clear();
    }
    return {.is_complete = true, .choice = cheapest_of(fronts_.back().front()), .pairs = pairs_};
  }

 private:
  // Labels of one choice of the bucket's operator, whose front they join. Returns: false where there are too many.
  bool add_entry(const BucketTree::Bucket& b, std::vector<Label>& front, std::size_t entry, std::size_t outer,
                 const std::vector<std::size_t>& at, double least) {
    const double value = tree_.value(b, entry, at), room = most_ - value - b.rest[outer];
    if (room < 0) return true;
    Label own;
    if (b.who != BucketTree::kNone) {
      own.bytes = problem_.bytes[b.who][at.back()];
      if (own.bytes > least + spare_) return true;
      own.made_of = add_step({b.who, static_cast<std::uint32_t>(at.back())});
    }
    std::vector<Label> labels{own};
    for (const BucketTree::Child& c : b.children) {
      least += least_[c.bucket];
      if (!join(labels, fronts_[c.bucket][BucketTree::outer_entry(c, at)], room, least + spare_)) return false;
    }
    for (Label& l : labels) {
      l.excess += value - b.cheapest[outer];
      front.push_back(l);
    }
    return true;
  }

  bool join(std::vector<Label>& labels, const std::vector<Label>& more, double most_excess, double most_bytes) {
    pairs_ += static_cast<double>(labels.size()) * static_cast<double>(more.size());
    if (pairs_ > limits_.most_pairs) return false;
    std::vector<Label> both;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> made_of;
    for (const Label& l : labels)
      for (const Label& m : more) {
        const Label sum{l.excess + m.excess, l.bytes + m.bytes, static_cast<std::uint32_t>(made_of.size())};
        if (sum.excess > most_excess || sum.bytes > most_bytes) continue;
        both.push_back(sum);
        made_of.emplace_back(l.made_of, m.made_of);
      }
    thin_out(both);
    for (Label& l : both) {
      const auto [first, second] = made_of[l.made_of];
      l.made_of = add_step({BucketTree::kNone, 0, first, second});
    }
    labels = std::move(both);
    return static_cast<double>(steps_.size()) <= limits_.most_labels;
  }

  std::uint32_t add_step(const Step& s) {
    steps_.push_back(s);
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }

  // Seconds without the multiplier of bytes, but for a constant of the place.
  [[nodiscard]] double cost(const Label& l) const { return l.excess - multiplier_ * l.bytes; }

  // Leaves the minimum_memory, and of those that take more what costs less.
  void thin_out(std::vector<Label>& labels) const {
    std::ranges::sort(labels, [&](const Label& a, const Label& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : cost(a) < cost(b); });
    double least = std::numeric_limits<double>::infinity();
    std::erase_if(labels, [&](const Label& l) {
      if (cost(l) >= least - tolerance_) return true;
      least = cost(l);
      return false;
    });
  }

  // All labels of the last front fit.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> cheapest_of(const std::vector<Label>& front) const {
    if (front.empty()) return std::nullopt;
    const auto best = std::ranges::min_element(front, {}, [&](const Label& l) { return cost(l); });
    std::vector<std::uint32_t> choice(problem_.bytes.size(), 0), open{best->made_of};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (at == kNothing) continue;
      const Step& s = steps_[at];
      if (s.who != BucketTree::kNone) choice[s.who] = s.choice;
      open.insert(open.end(), {s.first, s.second});
    }
    return choice;
  }

  const ConstrainedProblem& problem_;
  const BucketTree& tree_;
  double multiplier_, to_beat_;
  FrontLimits limits_;
  double tolerance_ = kSameCost * to_beat_, most_ = to_beat_ + multiplier_ * problem_.limit;
  double spare_ = most_bytes(problem_) - least_bytes(problem_);  // bytes over the minimum_memory choices of all
  std::vector<std::vector<std::vector<Label>>> fronts_;          // by bucket and outer entry
  std::vector<double> least_;                                    // bytes, by bucket with all below it
  std::vector<Step> steps_;
  double pairs_ = 0;
};

}  // namespace

FrontAnswer cheapest_by_fronts(const ConstrainedProblem& problem, const BucketTree& tree, double multiplier, double to_beat,
                               const FrontLimits& limits) {
  return ByteFronts(problem, tree, multiplier, to_beat, limits).run();
}

}  // namespace search
