#include "search/rules/meaning/small_sizes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/random.hpp"

namespace rules {
namespace {

constexpr std::array<std::int64_t, 5> kSizesAlone{4, 7, 3, 5, 2};  // large ones first: few equations that are false hold there

}  // namespace

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
  if (letters.size() == 1) small_[static_cast<std::size_t>(letters[0] - 'a')] = kSizesAlone[seed % kSizesAlone.size()];
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

}  // namespace rules
