// Size symbols: letters, the typing sizes that they stand for, and small sizes for evaluation.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "base/random.hpp"
#include "substitutions/language/term.hpp"

namespace substitutions {
namespace {

constexpr std::int64_t kDivisor = 30 * 30 * 30 * 30;  // every degree symbol's value divides 30
constexpr std::size_t kMostTerms = 4;                 // of a sum of letters in the table
using Table = std::map<Numbers, std::string>;

Numbers plus(Numbers a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

bool is_plain(const Numbers& n) {
  return std::ranges::all_of(n, [&](std::int64_t v) { return v == n[0]; });
}

void add_sums(Table& table, const Numbers& sum, const std::string& letters) {
  for (char c = letters.empty() ? 'a' : letters.back(); c <= 'z'; ++c) {
    const Numbers more = plus(sum, symbol(c));
    table.emplace(more, letters + c);
    if (letters.size() + 1 < kMostTerms) add_sums(table, more, letters + c);
  }
}

// Nullopt where one size need not divide by the other, whatever the symbols are: 6k / 2k = 3, 6k / 3 = 2k.
std::optional<Numbers> quotient(const Numbers& whole, const Numbers& part) {
  if (part == Numbers{1, 1, 1}) return whole;
  Numbers q;
  for (std::size_t a = 0; a < q.size(); ++a) {
    if (whole[a] % part[a] != 0) return std::nullopt;
    q[a] = whole[a] / part[a];
  }
  return letters_of(q) ? std::optional(q) : std::nullopt;
}

constexpr Chance kOutside{"cuts outside its tensor", "write the size that is cut as a sum of both parts, e.g. [m+n, k] cut after m"};
constexpr Chance kChannels{"reads channels that are no multiple of its kernel's",
                           "use one letter: [n, c, h, w] with [o, c, 3, 3], in two groups [n, 2c, h, w] with [2o, c, 3, 3]"};
constexpr Chance kGroups{"has a kernel whose outputs are no multiple of its groups",
                         "a kernel of two groups is e.g. [2o, c, 3, 3], one of a channel each [c, 1, 3, 3]"};
constexpr Chance kHeads{"reads a last dim that is no multiple of 3", "queries, keys and values lie side by side: e.g. [b, s, 3h]"};

std::optional<Chance> chance_in_split(const Node& n, const Types& x) {
  Numbers rest = dim_size(x, n.axis);
  for (std::size_t a = 0; a < rest.size(); ++a) rest[a] -= n.at[a];
  return letters_of(n.at) && letters_of(rest) ? std::nullopt : std::optional(kOutside);
}

std::optional<Chance> chance_in_convolution(const Types& x, const Types& w) {
  const auto groups = quotient(dim_size(x, 1), dim_size(w, 1));
  if (!groups) return kChannels;
  return quotient(dim_size(w, 0), *groups) ? std::nullopt : std::optional(kGroups);
}

}  // namespace

Numbers symbol(char letter) {
  base::Random random(static_cast<std::uint64_t>(letter));
  Numbers n;
  for (std::int64_t& v : n) v = kDivisor * static_cast<std::int64_t>(1009 + random.below(60000));
  return n;
}

std::optional<std::string> letters_of(const Numbers& sizes) {
  if (is_plain(sizes)) return std::string();
  static const Table table = [] {
    Table t;
    add_sums(t, {}, "");
    return t;
  }();
  if (const auto it = table.find(sizes); it != table.end()) return it->second;
  for (char c = 'a'; c <= 'z'; ++c) {  // five letters
    Numbers rest = sizes;
    const Numbers s = symbol(c);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= s[i];
    if (const auto it = table.find(rest); it != table.end() && it->second.front() >= c) return c + it->second;
  }
  return std::nullopt;
}

std::optional<Chance> chance_in(const Node& n, std::span<const Types* const> inputs) {
  switch (n.kind) {
    case Kind::split0:
    case Kind::split1: return chance_in_split(n, *inputs[0]);
    case Kind::conv:
    case Kind::conv_bias: return chance_in_convolution(*inputs[0], *inputs[1]);
    case Kind::attention: return quotient(dim_size(*inputs[0], 2), {3, 3, 3}) ? std::nullopt : std::optional(kHeads);
    default: return std::nullopt;
  }
}

SmallSizes::SmallSizes(std::span<const Variable> variables, std::uint64_t seed) {
  std::string letters;
  std::vector<Numbers> all;
  for (const Variable& v : variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d) {
      const Numbers n = dim_size(v.types, d);
      all.push_back(n);
      if (const auto more = letters_of(n)) letters += *more;
    }
  std::ranges::sort(letters);
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  base::Random random(seed / 2);
  for (std::size_t i = letters.size(); i > 1; --i) std::swap(letters[i - 1], letters[random.below(i)]);
  if (seed % 2 == 1) std::ranges::reverse(letters);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool last = i > 0 && i + 1 == letters.size();  // larger than the sum of the two smallest
    small_[static_cast<std::size_t>(letters[i] - 'a')] = static_cast<std::int64_t>(i) + (last ? 4 : 2);
  }
  for (const Numbers& n : all)
    if (letters_of(n)) known_.emplace_back(n, of(n));
  std::ranges::sort(known_);
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
}

std::int64_t SmallSizes::of(const Numbers& typing_sizes) const {
  const auto it = std::ranges::lower_bound(known_, std::pair(typing_sizes, std::int64_t{0}));
  if (it != known_.end() && it->first == typing_sizes) return it->second;
  if (is_plain(typing_sizes)) return typing_sizes[0];
  std::int64_t sum = 0;
  for (const char c : letters_of(typing_sizes).value_or("")) {
    const std::int64_t small = small_[static_cast<std::size_t>(c - 'a')];
    if (small == 0) sum = -1000;
    sum += small;
  }
  if (sum <= 0) throw std::logic_error(fmt::format("size {} is no sum of the variables' symbols", typing_sizes[0]));
  return sum;
}

}  // namespace substitutions
