#include "search/rules/language/symbols.hpp"

#include <algorithm>
#include <map>

#include "base/random.hpp"

namespace rules {
namespace {

constexpr std::int64_t kDivisor = 30 * 30 * 30 * 30;  // every degree symbol's value divides 30
constexpr std::size_t kMostTerms = 4;                 // of a sum of letters in the table
using Table = std::map<Numbers, std::string>;

void add_sums(Table& table, const Numbers& sum, const std::string& letters) {
  for (char c = letters.empty() ? 'a' : letters.back(); c <= 'z'; ++c) {
    const Numbers more = plus(sum, symbol(c));
    table.emplace(more, letters + c);
    if (letters.size() + 1 < kMostTerms) add_sums(table, more, letters + c);
  }
}

// Values of d, e and the number 2.
constexpr std::array<std::array<std::int64_t, 3>, kAssignments> kDegrees{{{2, 3, 2}, {3, 5, 2}, {5, 2, 2}}};

}  // namespace

Numbers plus(Numbers a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
Numbers minus(Numbers a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

Numbers symbol(char letter) {
  static const std::array<Numbers, 26> all = [] {
    std::array<Numbers, 26> drawn;
    for (char c = 'a'; c <= 'z'; ++c) {
      base::Random random(static_cast<std::uint64_t>(c));
      for (std::int64_t& v : drawn[index_of(c)]) v = kDivisor * static_cast<std::int64_t>(1009 + random.below(60000));
    }
    return drawn;
  }();
  return all[index_of(letter)];
}

bool is_plain(const Numbers& n) {
  return std::ranges::all_of(n, [&](std::int64_t v) { return v == n[0]; });
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
    if (const auto it = table.find(minus(sizes, symbol(c))); it != table.end() && it->second.front() >= c) return c + it->second;
  }
  return std::nullopt;
}

std::optional<std::int64_t> size_of(const LetterSizes& sizes, const Numbers& typing_sizes) {
  if (is_plain(typing_sizes)) return typing_sizes[0];
  const std::optional<std::string> letters = letters_of(typing_sizes);
  if (!letters) return std::nullopt;
  std::int64_t sum = 0;
  for (const char c : *letters) {
    if (sizes[index_of(c)] == 0) return std::nullopt;
    sum += sizes[index_of(c)];
  }
  return sum;
}

Numbers values(Degree d) {
  Numbers v{1, 1, 1};
  for (std::size_t a = 0; a < v.size(); ++a)
    for (std::size_t s = 0; s < d.powers.size(); ++s)
      for (int i = 0; i < d.powers[s]; ++i) v[a] *= kDegrees[a][s];
  return v;
}

std::optional<Degree> degree_from(const Numbers& values) {
  Numbers rest = values;
  Degree d;
  for (std::size_t s = 0; s < d.powers.size(); ++s)
    for (; rest[1] > 0 && rest[1] % kDegrees[1][s] == 0; ++d.powers[s])  // in this assignment they are different primes
      for (std::size_t a = 0; a < rest.size(); ++a) {
        if (rest[a] % kDegrees[a][s] != 0) return std::nullopt;
        rest[a] /= kDegrees[a][s];
      }
  return rest == Numbers{1, 1, 1} ? std::optional(d) : std::nullopt;
}

}  // namespace rules
