#include "search/problem/option.hpp"

#include <fmt/core.h>

namespace search {
namespace {

template <class N>
std::string range_text(const char* kind, N least, N most, N no_end) {
  return most == no_end ? fmt::format("{} ≥ {}", kind, least) : fmt::format("{} {} to {}", kind, least, most);
}

std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += fmt::format("{}`{}`", text.empty() ? "" : " ", w);
  return text;
}

// Degrees end somewhere, which no reader needs to know.
std::string integers_text(const char* kind, std::int64_t least, std::int64_t most) {
  constexpr std::int64_t kManyDevices = 1 << 24;
  return range_text(kind, least, most >= kManyDevices ? INT64_MAX : most, INT64_MAX);
}

struct TypeText {
  std::string operator()(const WholeNumber& n) const { return integers_text("integer", n.least, n.most); }
  std::string operator()(const WholeNumbers& n) const {
    const std::string list = integers_text("list of integers", n.least, n.most);
    return n.words.empty() ? list : fmt::format("{}, or {}", list, quoted_words(n.words));
  }
  std::string operator()(const RealNumber& n) const { return range_text("number", n.least, n.most, RealNumber{}.most); }
  std::string operator()(const Flag&) const { return "boolean"; }
  std::string operator()(const Choice& c) const { return quoted_words(c.words); }
  std::string operator()(const Duration&) const { return "time"; }
  std::string operator()(const ChoiceOrParts& c) const {
    return fmt::format("{}, or map of `modules` (list of {}) and `blocks` (integer ≥ 1)", quoted_words(c.words), quoted_words(c.modules));
  }
  std::string operator()(const RulesOfFile&) const { return "rule file"; }
  std::string operator()(const Flags& f) const { return fmt::format("map of {} to booleans", quoted_words(f.words)); }
};

struct DefaultText {
  std::string operator()(const WholeNumber& n) const { return fmt::format("{}", n.by_default); }
  std::string operator()(const RealNumber& n) const { return fmt::format("{}", n.by_default); }
  std::string operator()(const Flag& f) const { return fmt::format("`{}`", f.by_default); }
  std::string operator()(const Choice& c) const { return fmt::format("`{}`", c.words.at(c.by_default)); }
  std::string operator()(const Duration& d) const { return base::to_text(d.by_default); }
  std::string operator()(const WholeNumbers&) const { return "none"; }
  std::string operator()(const Flags&) const { return "none"; }
  std::string operator()(const RulesOfFile&) const { return "none"; }
  std::string operator()(const ChoiceOrParts& c) const { return fmt::format("`{}`", c.words.at(c.by_default.word)); }
};

}  // namespace

std::string type_text(const Option& o) { return std::visit(TypeText{}, o.type); }

std::string default_text(const Option& o) { return o.otherwise.empty() ? std::visit(DefaultText{}, o.type) : o.otherwise; }

}  // namespace search
