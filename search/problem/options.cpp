#include "search/problem/options.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <thread>
#include <tuple>

#include "base/diagnostics.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "search/rules/selection/selection.hpp"

namespace search {
namespace {

template <class N>
std::string range_text(const char* kind, N least, N most, N no_end) {
  return most == no_end ? fmt::format("{} ≥ {}", kind, least) : fmt::format("{} {} to {}", kind, least, most);
}

// Requires: there are words.
std::string quoted_words(const std::vector<std::string>& words) { return fmt::format("`{}`", fmt::join(words, "` `")); }

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
  std::string operator()(const AllowedValues& a) const {
    return (a.words.empty() ? integers_text("integer", a.least, a.most) : quoted_words(a.words)) + ", or list";
  }
  std::string operator()(const RulesOfFile&) const { return "rule file"; }
  std::string operator()(const Flags& f) const { return fmt::format("map of {} to booleans", quoted_words(f.words)); }
};

struct DefaultText {
  std::string operator()(const WholeNumber& n) const { return fmt::format("{}", n.by_default); }
  std::string operator()(const RealNumber& n) const { return fmt::format("{}", n.by_default); }
  std::string operator()(const Flag& f) const { return fmt::format("`{}`", f.by_default); }
  std::string operator()(const Choice& c) const { return fmt::format("`{}`", c.words.at(c.by_default)); }
  std::string operator()(const Duration& d) const { return base::to_text(d.by_default.least); }
  std::string operator()(const ChoiceOrParts& c) const { return fmt::format("`{}`", c.words.at(c.by_default.word)); }
  std::string operator()(const auto&) const { return "none"; }
};

}  // namespace

GivenRules load_given_rules(const std::filesystem::path& file) {
  const int processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  auto wanted = select(rules::load_rules(file, processes), rules::Wanted::algebra);
  if (wanted.rules.empty())
    base::refuse(file.string(), "a search asks none of its rules; " + left_out_text(wanted),
                 "it asks algebraic ones; algebra: false asks none");
  return {file, std::make_shared<const rules::Selection>(std::move(wanted))};
}

std::span<const rules::Rule> rules_to_ask(const GivenRules& given) {
  return given.of_file ? given.of_file->rules : rules::builtin_algebraic_rules().rules;
}

base::Fact rules_asked(const GivenRules& given) {
  const auto& count = given.of_file->count;
  const std::size_t all = std::accumulate(count.begin(), count.end(), std::size_t{0});
  return std::apply(
      [&](std::size_t asked, auto... left_out) { return base::Fact("rules-asked", asked, all, given.file.string(), left_out...); }, count);
}

std::string type_text(const Option& o) { return std::visit(TypeText{}, o.type); }

std::string default_text(const Option& o) { return o.otherwise.empty() ? std::visit(DefaultText{}, o.type) : o.otherwise; }

void OptionValues::give(const std::string& key, Value value) {
  values_.insert_or_assign(key, std::move(value));
  given_.insert(key);
}

OptionValues::OptionValues(std::span<const Option> options) {
  for (const Option& o : options) std::visit([&](const auto& type) { values_.emplace(o.key, type.by_default); }, o.type);
}

// Reads one option after the other, each by its type.
class OptionReader {
 public:
  OptionReader(base::MapReader& in, OptionValues& values, const std::filesystem::path& directory)
      : in_(in), values_(values), directory_(directory) {}

  void read(const Option& o) {
    if (const base::Yaml* value = in_.optional(o.key)) std::visit([&](const auto& type) { read_as(o, type, *value); }, o.type);
  }

 private:
  template <class T>
  void take(const Option& o, const std::optional<T>& found) {
    if (found) values_.give(o.key, *found);
  }
  void read_as(const Option& o, const WholeNumber& n, const base::Yaml&) { take(o, in_.integer(o.key, n.least, n.most)); }
  void read_as(const Option& o, const RealNumber& n, const base::Yaml&) { take(o, in_.number(o.key, n.least, n.most)); }
  void read_as(const Option& o, const Flag&, const base::Yaml&) { take(o, in_.boolean(o.key)); }
  void read_as(const Option& o, const Duration&, const base::Yaml&) {
    if (const auto seconds = in_.seconds(o.key)) values_.give(o.key, Effort{*seconds});
  }
  void read_as(const Option& o, const Choice& c, const base::Yaml&) { take(o, in_.choice(o.key, c.words)); }
  void read_as(const Option& o, const WholeNumbers& n, const base::Yaml& value) {
    if (value.is_scalar() && std::ranges::find(n.words, value.scalar) != n.words.end())
      return values_.give(o.key, NumbersOrWord{{}, value.scalar});
    if (!value.is_sequence() || value.items.empty())
      return in_.complain(o.key, fmt::format("expected a {}", type_text(o)), "write e.g. [1, 2, 1]");
    NumbersOrWord list;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const std::string item = fmt::format("[{}]", i), path = in_.path_of(o.key) + item;
      const auto number = base::as_integer(value.items[i], path, in_.sink());
      if (!number) continue;
      if (*number < n.least)
        in_.sink().add(value.items[i].mark, path, fmt::format("{}{} must be at least {}, found {}", o.key, item, n.least, *number));
      if (*number > n.most)
        in_.sink().add(value.items[i].mark, path, fmt::format("{}{} must be at most {}, found {}", o.key, item, n.most, *number));
      list.numbers.push_back(*number);
    }
    values_.give(o.key, std::move(list));
  }
  void read_as(const Option& o, const Flags& f, const base::Yaml& value) {
    base::MapReader map(value, in_.path_of(o.key), in_.sink());
    NamedFlags given;
    for (const std::string& word : f.words)
      if (const auto flag = map.boolean(word)) given[word] = *flag;
    map.finish();
    values_.give(o.key, std::move(given));
  }

  void read_as(const Option& o, const ChoiceOrParts& c, const base::Yaml& value) {
    if (!value.is_map()) {
      if (const auto word = in_.choice(o.key, c.words)) values_.give(o.key, PartsChosen{*word, 0, {}});
      return;
    }
    PartsChosen chosen;
    base::MapReader map(value, in_.path_of(o.key), in_.sink());
    chosen.blocks = map.integer("blocks", 1, INT32_MAX).value_or(0);
    if (const base::Yaml* modules = map.optional("modules")) chosen.modules = read_words(*modules, map.path_of("modules"), c.modules);
    map.finish();
    if (!map.has("blocks") && !map.has("modules"))
      in_.complain(o.key, "expected modules or blocks, or both", fmt::format("write {{modules: [{}]}}, or {{blocks: 1}}", c.modules[0]));
    values_.give(o.key, std::move(chosen));
  }

  void read_as(const Option& o, const AllowedValues& a, const base::Yaml& value) {
    const bool is_list = value.is_sequence();
    if (is_list && value.items.empty()) return in_.complain(o.key, "the list is empty, and allows nothing", "leave it out to allow all");
    std::vector<std::int64_t> allowed;
    for (const base::Yaml& item : is_list ? std::span<const base::Yaml>(value.items) : std::span(&value, 1)) {
      const auto word = std::ranges::find(a.words, item.scalar);
      if (!a.words.empty() && word == a.words.end())
        in_.sink().add(item.mark, in_.path_of(o.key), fmt::format("\"{}\" is not known", item.scalar), base::suggest(item.scalar, a.words));
      const auto number = a.words.empty() ? base::as_integer(item, in_.path_of(o.key), in_.sink()) : word - a.words.begin();
      if (a.words.empty() && number && (*number < a.least || *number > a.most))
        in_.sink().add(item.mark, in_.path_of(o.key), fmt::format("{} is not an {}", *number, integers_text("integer", a.least, a.most)));
      if (number) allowed.push_back(*number);
    }
    values_.give(o.key, std::move(allowed));
  }

  // The place of the option, and then the problems of the file, each with its own line.
  void read_as(const Option& o, const RulesOfFile&, const base::Yaml&) {
    const auto name = in_.text(o.key);
    if (!name) return;
    const std::filesystem::path file = directory_ / *name;
    try {
      values_.give(o.key, load_given_rules(file));
    } catch (const base::InputError& e) {
      in_.complain(o.key, fmt::format("the rules of \"{}\" cannot be asked", *name),
                   fmt::format("see what is wrong with {}", file.string()));
      in_.sink().add_all(e);
    }
  }

  // Indices of the words that a list names, ascending, each once.
  std::vector<std::size_t> read_words(const base::Yaml& list, const std::string& path, const std::vector<std::string>& words) {
    const std::string hint = fmt::format("one or more of: {}", fmt::join(words, ", "));
    if (!list.is_sequence() || list.items.empty()) in_.sink().add(list.mark, path, "expected a list of words", hint);
    std::set<std::size_t> found;
    for (const base::Yaml& item : list.items) {
      const auto at = std::ranges::find(words, item.is_scalar() ? item.scalar : std::string());
      if (at == words.end())
        in_.sink().add(item.mark, path, item.is_scalar() ? fmt::format("\"{}\" is not known", item.scalar) : "expected a word", hint);
      else found.insert(static_cast<std::size_t>(at - words.begin()));
    }
    return {found.begin(), found.end()};
  }

  base::MapReader& in_;
  OptionValues& values_;
  const std::filesystem::path& directory_;
};

OptionValues read_options(base::MapReader& in, std::span<const Option> options, const std::filesystem::path& directory) {
  OptionValues values(options);
  OptionReader reader(in, values, directory);
  for (const Option& o : options) reader.read(o);
  return values;
}

std::vector<Option> with_limits(const Effort& budget, const std::string& counted, std::vector<Option> own) {
  std::string help = "effort in seconds of one core, counted by steps";
  if (budget.gpus_of_second > 0) help += fmt::format("; unless given, a second more for every {} GPUs", budget.gpus_of_second);
  std::vector<Option> options = {
      {"budget", Duration{budget}, std::move(help)},
      {"candidates", WholeNumber{.by_default = 0}, fmt::format("number of {} that ends the search", counted), "no limit"},
      {"rank", Choice{{"time", "surely"}}, "the best of what is simulated: the quickest by forecast, or by the upper end of its interval"}};
  std::ranges::move(own, std::back_inserter(options));
  return options;
}

Option space_option() { return {"space", Choice{{"all", "paper"}}, "what is searched: all, or only what its publication searches"}; }

std::optional<OptionProblem> beyond_paper(const OptionValues& o, std::initializer_list<std::string_view> keys) {
  const auto* const at = std::ranges::find_if(keys, [&](std::string_view key) { return is_of_paper(o) && o.given(key); });
  if (at == keys.end()) return std::nullopt;
  return OptionProblem{std::string(*at), fmt::format("{} is no choice of `space: paper`", *at), fmt::format("remove {}, or space", *at)};
}

void OptionValues::limit(const SearchLimits& limits) {
  give("budget", Effort{limits.seconds});
  if (limits.candidates != SearchLimits::kUncounted) give("candidates", static_cast<std::int64_t>(limits.candidates));
}

SearchLimits limits_of(const OptionValues& values, int gpus) {
  const std::int64_t candidates = values.whole_number("candidates");
  return {values.effort("budget").on(gpus), candidates > 0 ? static_cast<std::uint64_t>(candidates) : SearchLimits::kUncounted};
}

}  // namespace search
