#include "tests/rules/nameless.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

using namespace rules;

namespace {

bool commutes(const Node& n) { return n.kind == Kind::add || n.kind == Kind::multiply; }

// Both sides with the inputs of some commutative operators, the outputs and the degrees exchanged.
struct Variant {
  Term source, target;
};

void exchange_degrees(Term& t) {
  for (Node& n : t.nodes) std::swap(n.degree.powers[0], n.degree.powers[1]);
}

std::vector<Variant> variants_of(const Rule& r) {
  std::vector<Variant> all{{r.source(), r.target()}};
  const auto also = [&](auto&& change) {
    for (std::size_t i = 0, count = all.size(); i < count; ++i) {
      all.push_back(all[i]);
      change(all.back());
    }
  };
  for (std::size_t n = 0; n < r.source().nodes.size(); ++n)
    if (commutes(r.source().nodes[n])) also([&](Variant& v) { std::ranges::reverse(v.source.nodes[n].inputs); });
  for (std::size_t n = 0; n < r.target().nodes.size(); ++n)
    if (commutes(r.target().nodes[n])) also([&](Variant& v) { std::ranges::reverse(v.target.nodes[n].inputs); });
  if (r.source().outputs.size() > 1)
    also([](Variant& v) { std::ranges::reverse(v.source.outputs), std::ranges::reverse(v.target.outputs); });
  also([](Variant& v) { exchange_degrees(v.source), exchange_degrees(v.target); });
  return all;
}

// Numbers variables in the order in which they are met, and letters in the order in which they are met in the dims of those.
class Numbering {
 public:
  Numbering(const Variant& v, const std::vector<Variable>& variables) : v_(v), variables_(variables) {
    for (const Term* t : {&v.source, &v.target})
      for (const std::uint8_t o : t->outputs) meet(*t, o);
  }

  // The least text over all ways to number the letters that are met in sums alone.
  std::string text() {
    std::set<char> open;
    for (const bool alone : {true, false})
      for (const std::uint8_t variable : met_)
        for (std::size_t d = 0; d < variables_[variable].types[0].rank; ++d) {
          const std::string letters = letters_of(dim_size(variables_[variable].types, d)).value_or("");
          const std::set<char> distinct(letters.begin(), letters.end());
          if (alone && distinct.size() == 1) letters_.try_emplace(*distinct.begin(), letters_.size());
          if (!alone)
            for (const char c : distinct)
              if (!letters_.contains(c)) open.insert(c);
        }
    std::string order(open.begin(), open.end()), least;
    const std::map<char, std::size_t> known = letters_;
    do {
      letters_ = known;
      for (const char c : order) letters_.emplace(c, letters_.size());
      const std::string one = written();
      if (least.empty() || one < least) least = one;
    } while (std::ranges::next_permutation(order).found);
    return least;
  }

 private:
  void meet(const Term& t, std::uint8_t at) {
    const Node& n = t.nodes[at];
    if (n.kind == Kind::variable && std::ranges::find(met_, n.variable) == met_.end()) met_.push_back(n.variable);
    for (const std::uint8_t i : n.inputs) meet(t, i);
  }
  std::string size(const Numbers& n) const {
    const std::string letters = letters_of(n).value();
    if (letters.empty()) return std::to_string(n[0]);
    std::multiset<std::size_t> numbers;
    for (const char c : letters) numbers.insert(letters_.at(c));
    std::string text;
    for (const std::size_t number : numbers) text += fmt::format("+l{}", number);
    return text;
  }
  std::string written(const Term& t, std::uint8_t at) const {
    const Node& n = t.nodes[at];
    if (n.kind == Kind::variable) return fmt::format("v{}", std::ranges::find(met_, n.variable) - met_.begin());
    std::string text = fmt::format("{}.{}.{}.{}.{}.{}[{} {}](", name_of(n.kind), name_of(n.function), n.axis, n.degree.powers[0],
                                   n.degree.powers[1], n.degree.powers[2], size(n.at), size(n.by));
    for (const std::uint8_t i : n.inputs) text += written(t, i) + ",";
    return text + ")";
  }
  std::string written() const {
    std::string text;
    for (const Term* t : {&v_.source, &v_.target}) {
      for (const std::uint8_t o : t->outputs) text += written(*t, o) + ";";
      text += "=>";
    }
    for (const std::uint8_t variable : met_) {
      const Types& types = variables_[variable].types;
      text += types[0].index ? " index" : " ";
      for (std::size_t d = 0; d < types[0].rank; ++d) text += size(dim_size(types, d)) + ",";
    }
    return text;
  }

  const Variant& v_;
  const std::vector<Variable>& variables_;
  std::vector<std::uint8_t> met_;
  std::map<char, std::size_t> letters_;
};

}  // namespace

std::string nameless_text(const Rule& r) {
  std::string least;
  for (const Variant& v : variants_of(r)) {
    const std::string text = Numbering(v, r.equation.variables()).text();
    if (least.empty() || text < least) least = text;
  }
  return least;
}
