#include "search/rules/rule_files/rule_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "search/rules/language/text.hpp"
#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

using base::MapReader;
using base::Yaml;

const std::vector<std::string>& axiom_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const AxiomEntry& entry : axioms().entries) names.push_back(entry.name);
    std::ranges::sort(names);
    return names;
  }();
  return all;
}

// Limits of what reading a text may cost: far above what a generator writes, far below what exhausts memory or overflows a degree.
constexpr std::size_t kMostText = 2000;      // characters of a term
constexpr std::int64_t kMostFileNumber = 4;  // a size that is no letter; kernels have 3
constexpr int kMostDegrees = 16;             // factors of all degrees of a side
constexpr std::size_t kMostProblems = 100;   // a reader needs no more; each quotes its line

int degrees_in(const Term& t) {
  int factors = 0;
  for (const Node& n : t.nodes)
    for (const int power : n.degree.powers) factors += power;
  return factors;
}

// Names what can be read but neither written nor evaluated; empty: nothing.
std::string problem_of(const Variable& v) {
  for (std::size_t d = 0; d < v.types[0].rank; ++d) {
    const Numbers size = dim_size(v.types, d);
    const auto letters = letters_of(size);
    if (!letters) return fmt::format("dim {} of {} is neither a sum of one to five letters nor a number", d, v.name);
    if (letters->empty() && size[0] > kMostFileNumber)
      return fmt::format("dim {} of {} is {}; a size that is a number is at most {}", d, v.name, size[0], kMostFileNumber);
  }
  return "";
}
std::string problem_of(const Term& t, std::span<const Variable> variables) {
  for (const Node& n : t.nodes)
    for (const Numbers& size : {n.at, n.by})
      if (size[0] != 0 && (!names_size(n, size, variables) || !letters_of(size)))
        return fmt::format("a size of {} is no sum of at most four dims and five letters", name_of(n.kind));
  return degrees_in(t) > kMostDegrees ? fmt::format("the degrees have more than {} factors", kMostDegrees) : "";
}

class RuleReader {
 public:
  RuleReader(const Yaml& y, std::string path, base::Diagnostics& sink) : reader_(y, std::move(path), sink), sink_(sink) {}

  Rule read() {
    Rule rule;
    const std::size_t before = sink_.size();
    for (const char* key : {"name", "kind", "source", "target"}) reader_.require(key);
    rule.name = reader_.text("name").value_or("");
    if (rule.name.empty() && reader_.has("name")) reader_.complain("name", "a rule without a name", "e.g. mine1");
    static const std::vector<std::string> kKinds{"algebraic", "parallel", "hybrid"};
    const auto kind = reader_.choice("kind", kKinds);
    const std::size_t unread = sink_.size();
    Equation e{.variables = variables(), .left = {}, .right = {}};
    if (sink_.size() == unread) {
      e.left = term("source", e.variables);
      e.right = term("target", e.variables);
    }
    for (const Yaml* a : texts("axioms", "names of axioms, as [linear.activation]")) rule.axioms.push_back(axiom(*a));
    (void)reader_.number("proof_s", 0);  // earlier generators wrote the seconds of a proof
    reader_.finish();
    if (sink_.size() > before) return rule;
    if (std::optional<TypedEquation> typed = TypedEquation::make(e)) {
      rule.equation = std::move(*typed);
      check(rule, kind ? kKinds[*kind] : "");
    } else ill_typed(e);
    return rule;
  }

 private:
  std::vector<const Yaml*> texts(std::string_view key, std::string_view what) {
    std::vector<const Yaml*> all;
    const Yaml* list = reader_.required(key);
    if (list == nullptr) return all;
    if (!list->is_sequence()) reader_.complain(key, fmt::format("expected a list of {}", what));
    for (const Yaml& item : list->items) {
      if (item.is_scalar()) all.push_back(&item);
      else sink_.add(item.mark, reader_.path_of(key), fmt::format("expected a list of {}", what));
    }
    return all;
  }

  std::string axiom(const Yaml& y) {
    if (std::ranges::binary_search(axiom_names(), y.scalar)) return y.scalar;
    const std::string nearest = base::nearest_name(y.scalar, axiom_names());
    sink_.add(y.mark, reader_.path_of("axioms"), fmt::format("there is no axiom \"{}\"", y.scalar),
              nearest.empty() ? "foreshard rules axioms lists them; the list may be empty: each rule is proved when it is loaded"
                              : fmt::format("did you mean \"{}\"?", nearest));
    return y.scalar;
  }

  std::vector<Variable> variables() {
    std::vector<Variable> all;
    std::set<std::string> names;
    const std::vector<const Yaml*> items = texts("variables", "variables, as [\"x: [m, k]\", \"w: [k, n]\"]");
    if (items.size() > kMostTermNodes) {
      reader_.complain("variables", fmt::format("{} variables; a rule has at most {}", items.size(), kMostTermNodes),
                       "take out those that neither side uses");
      return all;
    }
    for (const Yaml* item : items)
      guarded(*item, "variables", [&] {
        Variable v = parse_variable(item->scalar);
        if (const std::string problem = problem_of(v); !problem.empty()) sink_.add(item->mark, reader_.path_of("variables"), problem);
        if (!names.insert(v.name).second)
          sink_.add(item->mark, reader_.path_of("variables"), fmt::format("there are two variables \"{}\"", v.name));
        all.push_back(std::move(v));
      });
    return all;
  }
  Term term(std::string_view key, std::span<const Variable> variables) {
    Term t;
    const Yaml* y = reader_.optional(key);
    if (y == nullptr) return t;
    if (y->scalar.size() > kMostText) {
      reader_.complain(key, fmt::format("{} characters; a term has at most {}", y->scalar.size(), kMostText));
      return t;
    }
    guarded(*y, key, [&] { t = parse_term(y->scalar, variables); });
    if (const std::string problem = problem_of(t, variables); !problem.empty()) reader_.complain(key, problem);
    return t;
  }
  // A problem inside a text is reported where the text stands, moved by its column.
  template <class F>
  void guarded(const Yaml& y, std::string_view key, F&& parse) {
    try {
      parse();
    } catch (const base::InputError& e) {
      for (const base::Diagnostic& d : e.diagnostics()) {
        base::Mark mark = y.mark;
        mark.column += d.mark.column - 1 + (y.quoted ? 1 : 0);
        sink_.add(mark, reader_.path_of(key), d.message, d.hint);
      }
    }
  }

  // Names the first operator that is.
  void ill_typed(const Equation& e) {
    const bool is_left = !types_of(e.left, e.variables);
    Term part;
    for (const Node& n : is_left ? e.left.nodes : e.right.nodes) {
      part.outputs = {static_cast<std::uint8_t>(part.nodes.size())};
      part.nodes.push_back(n);
      if (!types_of(part, e.variables)) break;
    }
    reader_.complain(is_left ? "source" : "target", fmt::format("{} is ill typed over these variables", to_text(part, e.variables)),
                     "sizes and layouts of what it reads must fit each other, whatever the letters and degrees are");
  }
  // Names the first operator of a side that fits what it reads at the typing sizes only, as it cannot be evaluated at others.
  void check_sizes(std::string_view key, const Term& t, const std::vector<Types>& types) {
    for (const Node& n : t.nodes)
      if (const std::optional<SizeCondition> unmet = size_condition(n, types))
        return reader_.complain(key, fmt::format("{} {}", name_of(n.kind), unmet->what), std::string(unmet->cure));
  }

  void check(const Rule& rule, std::string_view kind) {
    const TypedEquation& e = rule.equation;
    check_sizes("source", e.left(), e.left_types());
    check_sizes("target", e.right(), e.right_types());
    if (e.left().outputs.size() != e.right().outputs.size())
      return reader_.complain("target", fmt::format("{} outputs, the source has {}", e.right().outputs.size(), e.left().outputs.size()));
    for (const std::size_t o : e.unlike_outputs())
      reader_.complain("target", fmt::format("output {} has another size or layout than the source's", o));
    if (!uses_all_of(e.left(), e.right())) reader_.complain("target", "has a variable that the source lacks");
    if (!kind.empty() && kind != name_of(kind_of(e))) reader_.complain("kind", fmt::format("the rule is {}", name_of(kind_of(e))));
  }

  MapReader reader_;
  base::Diagnostics& sink_;
};

RuleFile rules_from(const Yaml& root) {
  if (root.find("generator") == nullptr && root.find("foreshard") == nullptr)  // a problem in every line: one is enough
    base::refuse(root.mark, "", "this is no rule file: it has no \"generator\"", "foreshard rules generate --save writes one");
  base::Diagnostics sink;
  MapReader r(root, "", sink);
  RuleFile file;
  r.format();
  for (const char* key : {"generator", "axioms", "rules"}) r.require(key);
  file.generator = r.text("generator").value_or("");
  file.axioms = r.text("axioms").value_or("");
  std::set<std::string> names;
  if (const Yaml* list = r.optional("rules")) {
    if (!list->is_sequence()) r.complain("rules", "expected a list of rules");
    for (std::size_t i = 0; i < list->items.size() && sink.size() < kMostProblems; ++i) {
      const std::string path = fmt::format("rules[{}]", i);
      file.rules.push_back(RuleReader(list->items[i], path, sink).read());
      file.marks.push_back(list->items[i].mark);
      const std::string& name = file.rules.back().name;
      if (!name.empty() && !names.insert(name).second) sink.add(list->items[i].mark, path, fmt::format("there are two rules \"{}\"", name));
    }
  }
  if (!r.has("digest"))  // the last line of what the generator writes
    sink.add(root.mark, "", "missing \"digest\": the end of the file is cut off, or it was written by hand",
             "of a file by hand: write digest: none as its last line; it is then proved whenever it is loaded");
  file.digest = r.text("digest").value_or("");
  r.finish();
  sink.throw_if_any();
  return file;
}

}  // namespace

RuleFile parse_rules(std::string text, const std::string& name) { return rules_from(base::parse_yaml(std::move(text), name)); }
RuleFile read_rules(const std::filesystem::path& path) { return rules_from(base::read_yaml(path)); }

}  // namespace rules
