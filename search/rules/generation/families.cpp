#include "search/rules/generation/families.hpp"

#include <fmt/core.h>

#include <map>

#include "base/embedded/embedded_files.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "search/rules/language/text.hpp"
#include "search/rules/language/text_reader.hpp"
#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

using base::MapReader;
using base::Yaml;
using OperatorChoices = std::vector<Node>;

constexpr char kOtherLayouts[] = " or ";

// "[m, k]" cut along dim 1 is "[m, k/d]".
std::string cut_text(std::string sizes, std::size_t dim) {
  std::size_t end = sizes.find_first_of(",]");
  for (; dim > 0; --dim) end = sizes.find_first_of(",]", end + 1);
  return sizes.insert(end, "/d");
}

// One layout's word: each digit cuts a dim, c makes copies, s summands.
std::string laid_out(std::string sizes, std::string_view word) {
  std::string more;
  for (const char c : word) {
    if (c >= '0' && c <= '9') sizes = cut_text(std::move(sizes), static_cast<std::size_t>(c - '0'));
    else more += c == 's' ? " sum d" : " copy d";
  }
  return sizes + more;
}

void add_variables(std::vector<Variable>& to, const std::string& name, const std::string& text) {
  const std::size_t others = text.find(kOtherLayouts);
  const std::string plain = text.substr(0, others);
  to.push_back(parse_variable(fmt::format("{}: {}", name, plain)));
  if (others == std::string::npos) return;
  for (TextReader words(std::string_view(text).substr(others + sizeof kOtherLayouts - 1)); !words.at_end();) {
    const std::string_view word = words.name();
    to.push_back(parse_variable(fmt::format("{}{}: {}", name, word, laid_out(plain, word))));
  }
}

class OperatorReader {
 public:
  OperatorReader(std::string_view text, const std::map<std::string, OperatorChoices, std::less<>>& groups) : r_(text), groups_(groups) {}

  OperatorChoices all() {
    do add_next();
    while (r_.take(","));
    r_.expect_end();
    return std::move(all_);
  }

 private:
  void add_next() {
    const std::size_t from = r_.position();
    const std::string_view name = r_.name();
    if (const auto group = groups_.find(name); group != groups_.end()) all_.insert(all_.end(), group->second.begin(), group->second.end());
    else if (name == "split") add_splits();
    else if (name == "layouts") add_layouts();
    else if (const auto function = function_named(name)) all_.push_back({.kind = Kind::unary, .function = *function});
    else if (const auto kind = kind_named(name)) add_kind(*kind);
    else r_.fail_at(from, fmt::format("\"{}\" is neither an operator nor a group of them", name));
  }

  void add_kind(Kind kind) {
    Node n{.kind = kind};
    const Parameters parameters = facts_of(kind).parameters;
    if (parameters == Parameters::none || (parameters == Parameters::function && !r_.take("["))) return all_.push_back(n);
    if (parameters != Parameters::function) r_.expect("[");
    switch (parameters) {
      case Parameters::function: n.function = function(); break;
      case Parameters::axis:
        for (const std::uint8_t axis : axes()) all_.push_back({.kind = kind, .axis = axis});
        return r_.expect("]");
      case Parameters::size: n.at = r_.size(); break;
      case Parameters::two_sizes: n.at = r_.size(), r_.expect(","), n.by = r_.size(); break;
      case Parameters::degree: n.degree = r_.degree(); break;
      default: r_.fail(fmt::format("{} is in a list of a family as \"split\" or \"layouts\" only", name_of(kind)));
    }
    r_.expect("]");
    all_.push_back(n);
  }

  // Both halves, cut at each of the sizes: "split[0 at m l]".
  void add_splits() {
    r_.expect("[");
    const auto axis = static_cast<std::uint8_t>(r_.number());
    r_.expect("at");
    do {
      const Numbers at = r_.size();
      for (const Kind half : {Kind::split0, Kind::split1}) all_.push_back({.kind = half, .axis = axis, .at = at});
    } while (!r_.take("]"));
  }

  // All that one degree can move: "layouts[0 1 by d]".
  void add_layouts() {
    r_.expect("[");
    const std::vector<std::uint8_t> dims = axes();
    r_.expect("by");
    const Degree degree = r_.degree();
    for (const std::uint8_t axis : dims)
      for (const Kind kind : {Kind::partition, Kind::combine}) all_.push_back({.kind = kind, .axis = axis, .degree = degree});
    for (const Kind kind : {Kind::replicate, Kind::reduce}) all_.push_back({.kind = kind, .degree = degree});
    r_.expect("]");
  }

  std::vector<std::uint8_t> axes() {
    std::vector<std::uint8_t> all;
    do all.push_back(static_cast<std::uint8_t>(r_.number()));
    while (r_.next_is_digit());
    return all;
  }
  Function function() {
    const std::string_view name = r_.name();
    if (const auto f = function_named(name)) return *f;
    r_.fail(fmt::format("\"{}\" is no function", name));
  }

  TextReader r_;
  const std::map<std::string, OperatorChoices, std::less<>>& groups_;
  OperatorChoices all_;
};

class Families {
 public:
  explicit Families(base::Diagnostics& sink) : sink_(sink) {}

  void add_groups(const Yaml& y) {
    for (const Yaml::Entry& e : y.entries)
      if (auto operators = read_operators(e.value, "operators." + e.key)) groups_.emplace(e.key, std::move(*operators));
  }

  void add_family(const Yaml& y, const std::string& path, std::vector<Setting>& to) {
    MapReader r(y, path, sink_);
    r.require("family");
    Setting like{.family = r.text("family").value_or("")};
    if (r.boolean("sharded").value_or(false)) like.use = SettingUse::shard;
    if (const Yaml* list = r.required("settings"))
      for (std::size_t i = 0; i < list->items.size(); ++i)
        if (auto s = setting(list->items[i], fmt::format("{}.settings[{}]", path, i), like)) to.push_back(std::move(*s));
    r.finish();
  }

 private:
  std::optional<Setting> setting(const Yaml& y, const std::string& path, Setting s) {
    MapReader r(y, path, sink_);
    const Yaml* variables = r.required("variables");
    const Yaml* graphs = r.optional("graphs");
    const Yaml* operators = graphs != nullptr ? nullptr : r.required("operators");
    s.more = static_cast<int>(r.integer("more", 1, 1).value_or(0));
    r.finish();
    if (variables == nullptr || (operators == nullptr && graphs == nullptr)) return std::nullopt;
    for (const Yaml::Entry& v : variables->entries) {
      const auto add = [&] { return add_variables(s.variables, v.key, v.value.scalar), true; };
      if (!report(v.value.mark, path + ".variables." + v.key, add)) return std::nullopt;
    }
    if (graphs != nullptr) {
      s.use = SettingUse::compare;
      for (const Yaml& graph : graphs->items) {
        auto term = report(graph.mark, path + ".graphs", [&] { return parse_term(graph.scalar, s.variables); });
        if (!term) return std::nullopt;
        if (!types_of(*term, s.variables)) {
          sink_.add(graph.mark, path + ".graphs", fmt::format("\"{}\" is ill typed", graph.scalar), "sizes of its operators have to fit");
          return std::nullopt;
        }
        s.graphs.push_back(std::move(*term));
      }
      return s;
    }
    auto read = read_operators(*operators, path + ".operators");
    if (!read) return std::nullopt;
    s.operators = std::move(*read);
    return s;
  }

  std::optional<OperatorChoices> read_operators(const Yaml& y, const std::string& path) {
    return report(y.mark, path, [&] { return OperatorReader(y.scalar, groups_).all(); });
  }

  // The rule language's problems, at the place of their text in this file.
  template <class Read>
  auto report(const base::Mark& mark, const std::string& path, const Read& read) -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const base::InputError& e) {
      for (const base::Diagnostic& d : e.diagnostics()) sink_.add(mark, path, d.message, d.hint);
      return std::nullopt;
    }
  }

  base::Diagnostics& sink_;
  std::map<std::string, OperatorChoices, std::less<>> groups_;
};

std::vector<Setting> parse_settings(std::string_view yaml) {
  const Yaml root = base::parse_yaml(std::string(yaml), "<families>");
  base::Diagnostics sink;
  std::vector<Setting> all;
  MapReader r(root, "", sink);
  r.require("version");
  (void)r.integer("version", 1, 1);
  Families families(sink);
  if (const Yaml* groups = r.optional("operators")) families.add_groups(*groups);
  if (const Yaml* list = r.required("families"))
    for (std::size_t i = 0; i < list->items.size(); ++i) families.add_family(list->items[i], fmt::format("families[{}]", i), all);
  r.finish();
  sink.throw_if_any();
  return all;
}

// The operator on the variables, each after its layout operator (null: none), then `last`.
Term form(const Node& computing, const std::vector<const Node*>& moves, const Node* last) {
  Term t;
  Node op = computing;
  const auto append = [&](Node n) {
    t.nodes.push_back(std::move(n));
    return static_cast<std::uint8_t>(t.nodes.size() - 1);
  };
  const auto moved = [&](std::uint8_t at, const Node* move) {
    if (move == nullptr) return at;
    Node n = *move;
    n.inputs = {at};
    return append(std::move(n));
  };
  for (std::size_t v = 0; v < moves.size(); ++v)
    op.inputs.push_back(moved(append({.kind = Kind::variable, .variable = static_cast<std::uint8_t>(v)}), moves[v]));
  t.outputs = {moved(append(std::move(op)), last)};
  return canonical(t);
}

}  // namespace

base::EmbeddedFiles family_files();  // generated by cmake/embed.cmake

std::vector<Equation> pairs_of_graphs(const Setting& setting) {
  std::vector<Equation> all;
  for (std::size_t i = 0; i < setting.graphs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) all.push_back({setting.variables, setting.graphs[j], setting.graphs[i]});
  return all;
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> shipped = parse_settings(family_files().begin()->text);
  return shipped;
}

std::vector<Equation> sharded_forms(const Setting& setting) {
  std::vector<Equation> all;
  std::vector<const Node*> layouts{nullptr};  // and none
  for (const Node& n : setting.operators)
    if (is_layout(n.kind)) layouts.push_back(&n);
  for (const Node& n : setting.operators) {
    if (is_layout(n.kind)) continue;
    std::vector<const Node*> moves(input_count(n.kind), nullptr);
    const Term plain = form(n, moves, nullptr);
    const auto types = types_of(plain, setting.variables);
    if (!types) continue;
    const auto choose = [&](auto&& self, std::size_t i) -> void {
      if (i < moves.size()) {
        for (const Node* move : layouts) {
          moves[i] = move;
          self(self, i + 1);
        }
        return;
      }
      // Only forms whose layout is that of the plain operator can take its place.
      for (const Node* last : std::span(layouts).subspan(1)) {
        Term cut = form(n, moves, last);
        const auto cut_types = types_of(cut, setting.variables);
        if (cut_types && (*cut_types)[cut.outputs[0]] == (*types)[plain.outputs[0]])
          all.push_back({setting.variables, plain, std::move(cut)});
      }
    };
    choose(choose, 0);
  }
  return all;
}

}  // namespace rules
