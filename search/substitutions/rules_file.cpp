#include "search/substitutions/rules_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/yaml.hpp"
#include "search/substitutions/generate.hpp"
#include "search/substitutions/prove_all.hpp"
#include "search/substitutions/refute.hpp"

namespace substitutions {
namespace {

using base::MapReader;
using base::Yaml;

Yaml list_of(const std::vector<std::string>& texts) {
  Yaml y = Yaml::make_sequence();
  for (const std::string& t : texts) y.items.push_back(Yaml::make_scalar(t));
  return y;
}

Yaml written(const Rule& r) {
  Yaml y = Yaml::make_map();
  y.set("name", Yaml::make_scalar(r.name));
  y.set("kind", Yaml::make_scalar(std::string(name_of(kind_of(r.equation)))));
  std::vector<std::string> variables;
  for (const Variable& v : r.equation.variables) variables.push_back(to_text(v));
  y.set("variables", list_of(variables));
  y.set("source", Yaml::make_scalar(to_text(r.source(), r.equation.variables)));
  y.set("target", Yaml::make_scalar(to_text(r.target(), r.equation.variables)));
  y.set("axioms", list_of(r.axioms));
  y.set("proof_s", Yaml::make_scalar(fmt::format("{:.6f}", r.proof_s)));
  return y;
}

std::set<std::uint8_t> variables_of(const Term& t) {
  std::set<std::uint8_t> all;
  for (const Node& n : t.nodes)
    if (n.kind == Kind::variable) all.insert(n.variable);
  return all;
}

// Reads one rule; what is wrong goes to the sink.
class RuleReader {
 public:
  RuleReader(const Yaml& y, std::string path, base::Diagnostics& sink) : reader_(y, std::move(path), sink), sink_(sink) {}

  Rule read() {
    Rule rule;
    for (const char* key : {"name", "kind", "source", "target"}) reader_.require(key);
    rule.name = reader_.text("name").value_or("");
    static const std::vector<std::string> kKinds{"algebraic", "parallel", "hybrid"};
    const auto kind = reader_.choice("kind", kKinds);
    const std::size_t before = sink_.size();
    variables(rule.equation);
    if (sink_.size() == before) {
      rule.equation.left = term("source", rule.equation.variables);
      rule.equation.right = term("target", rule.equation.variables);
    }
    if (const Yaml* axioms = reader_.required("axioms"))
      for (const Yaml& a : axioms->items) rule.axioms.push_back(a.scalar);
    rule.proof_s = reader_.number("proof_s", 0).value_or(0);
    reader_.finish();
    if (sink_.size() == before) check(rule, kind ? kKinds[*kind] : "");
    return rule;
  }

 private:
  void variables(Equation& e) {
    const Yaml* list = reader_.required("variables");
    if (list == nullptr) return;
    if (!list->is_sequence()) return reader_.complain("variables", "expected a list", "e.g. [\"x: [m, k]\", \"w: [k, n]\"]");
    std::set<std::string> names;
    for (const Yaml& item : list->items) {
      guarded(item, "variables", [&] { e.variables.push_back(parse_variable(item.scalar)); });
      if (!e.variables.empty() && !names.insert(e.variables.back().name).second)
        sink_.add(item.mark, reader_.path_of("variables"), fmt::format("there are two variables \"{}\"", e.variables.back().name));
    }
  }
  Term term(std::string_view key, std::span<const Variable> variables) {
    Term t;
    if (const Yaml* y = reader_.optional(key)) guarded(*y, key, [&] { t = parse_term(y->scalar, variables); });
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

  void check(const Rule& rule, std::string_view kind) {
    const Equation& e = rule.equation;
    const auto source = types_of(e.left, e.variables), target = types_of(e.right, e.variables);
    if (!source) return reader_.complain("source", "is ill typed over these variables");
    if (!target) return reader_.complain("target", "is ill typed over these variables");
    if (e.left.outputs.size() != e.right.outputs.size())
      return reader_.complain("target", fmt::format("{} outputs, the source has {}", e.right.outputs.size(), e.left.outputs.size()));
    for (std::size_t o = 0; o < e.left.outputs.size(); ++o)
      if ((*source)[e.left.outputs[o]] != (*target)[e.right.outputs[o]])
        reader_.complain("target", fmt::format("output {} has another size or layout than the source's", o));
    if (!std::ranges::includes(variables_of(e.left), variables_of(e.right))) reader_.complain("target", "has a variable that the source lacks");
    if (!kind.empty() && kind != name_of(kind_of(e))) reader_.complain("kind", fmt::format("the rule is {}", name_of(kind_of(e))));
  }

  MapReader reader_;
  base::Diagnostics& sink_;
};

std::vector<Equation> equations_of(const RuleFile& file) {
  std::vector<Equation> all;
  for (const Rule& r : file.rules) all.push_back(r.equation);
  return all;
}

}  // namespace

std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms) {
  Yaml y = Yaml::make_map();
  y.set("format", Yaml::make_scalar("1"));
  Yaml generator = Yaml::make_scalar(std::string(kGeneratorVersion));
  generator.quoted = true;
  y.set("generator", std::move(generator));
  Yaml hash = Yaml::make_scalar(axioms.hash);
  hash.quoted = true;
  y.set("axioms", std::move(hash));
  Yaml list = Yaml::make_sequence();
  for (const Rule& r : rules) list.items.push_back(written(r));
  y.set("rules", std::move(list));
  return base::emit_yaml(y);
}

namespace {

RuleFile rules_from(const Yaml& root) {
  base::Diagnostics sink;
  MapReader r(root, "", sink);
  RuleFile file;
  for (const char* key : {"format", "generator", "axioms", "rules"}) r.require(key);
  (void)r.integer("format", 1, 1);
  file.generator = r.text("generator").value_or("");
  file.axioms = r.text("axioms").value_or("");
  std::set<std::string> names;
  if (const Yaml* list = r.optional("rules")) {
    if (!list->is_sequence()) r.complain("rules", "expected a list of rules");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const std::string path = fmt::format("rules[{}]", i);
      file.rules.push_back(RuleReader(list->items[i], path, sink).read());
      file.marks.push_back(list->items[i].mark);
      if (!names.insert(file.rules.back().name).second) sink.add(list->items[i].mark, path, fmt::format("there are two rules \"{}\"", file.rules.back().name));
    }
  }
  r.finish();
  sink.throw_if_any();
  return file;
}

}  // namespace

RuleFile parse_rules(std::string text, const std::string& name) { return rules_from(base::parse_yaml(std::move(text), name)); }
RuleFile read_rules(const std::filesystem::path& path) { return rules_from(base::read_yaml(path)); }

std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const std::function<void(std::size_t)>& progress) {
  return prove_all(axioms, {}, equations_of(file), processes, progress);
}

std::vector<Rule> load_rules(const std::filesystem::path& path, int processes) {
  RuleFile file = read_rules(path);
  base::Diagnostics sink;
  const auto complain = [&](std::size_t i, const std::string& what) {
    sink.add(file.marks[i], fmt::format("rules[{}]", i), fmt::format("rule {} {}", file.rules[i].name, what));
  };
  if (file.generator == kGeneratorVersion && file.axioms == axioms().hash) {
    for (std::size_t i = 0; i < file.rules.size(); ++i)
      if (const auto c = refute(file.rules[i].equation)) complain(i, "is false: " + c->text);
  } else {
    const std::vector<Proof> proofs = verify(file, axioms(), processes, {});
    for (std::size_t i = 0; i < proofs.size(); ++i) {
      if (proofs[i].verdict == Verdict::refuted) complain(i, "is false: " + proofs[i].counterexample->text);
      if (proofs[i].verdict == Verdict::open) complain(i, "is not proved by the axioms of this version");
    }
  }
  sink.throw_if_any();
  return std::move(file.rules);
}

}  // namespace substitutions
