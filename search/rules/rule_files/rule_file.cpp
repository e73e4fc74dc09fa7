#include "search/rules/rule_files/rule_file.hpp"

#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/yaml/parse.hpp"
#include "search/rules/generation/generate.hpp"
#include "search/rules/language/text.hpp"

namespace rules {
namespace {

using base::Yaml;

Yaml list_of(const std::vector<std::string>& texts) {
  Yaml y = Yaml::make_sequence();
  for (const std::string& t : texts) y.items.push_back(Yaml::make_scalar(t));
  return y;
}

Yaml written(const Rule& r) {
  std::vector<std::string> variables;
  for (const Variable& v : r.equation.variables()) variables.push_back(to_text(v));
  return base::map_of({{"name", Yaml::make_scalar(r.name)},
                       {"kind", Yaml::make_scalar(std::string(name_of(kind_of(r.equation))))},
                       {"variables", list_of(variables)},
                       {"source", Yaml::make_scalar(to_text(r.source(), r.equation.variables()))},
                       {"target", Yaml::make_scalar(to_text(r.target(), r.equation.variables()))},
                       {"axioms", list_of(r.axioms)}});
}

// Quotes keep a version or a digest of digits alone a text.
Yaml quoted(std::string text) {
  Yaml y = Yaml::make_scalar(std::move(text));
  y.quoted = true;
  return y;
}

// All that a file says, but for the digest.
Yaml written(const std::string& generator, const std::string& axioms, const std::vector<Rule>& rules) {
  Yaml list = Yaml::make_sequence();
  for (const Rule& r : rules) list.items.push_back(written(r));
  return base::map_of(
      {{"foreshard", Yaml::make_scalar("1")}, {"generator", quoted(generator)}, {"axioms", quoted(axioms)}, {"rules", std::move(list)}});
}
std::string digest_of(const Yaml& y) { return fmt::format("{:016x}", base::hash_text(base::emit_yaml(y))); }

}  // namespace

std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms) {
  Yaml y = written(std::string(kGeneratorVersion), axioms.hash, rules);
  y.set("digest", quoted(digest_of(y)));
  return base::emit_yaml(y);
}

std::string why_not_as_written(const RuleFile& file, const Axioms& axioms) {
  if (file.digest == "none") return "it was written by hand";
  if (file.generator != kGeneratorVersion)
    return fmt::format("generator \"{}\" wrote it, this is generator \"{}\"", file.generator, kGeneratorVersion);
  if (file.axioms != axioms.hash) return fmt::format("it rests on the axioms {}, which now are {}", file.axioms, axioms.hash);
  return file.digest != digest_of(written(file.generator, file.axioms, file.rules)) ? "it was changed after it was written" : "";
}

std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const RulesDone& progress) {
  std::vector<TypedEquation> equations;
  for (const Rule& r : file.rules) equations.push_back(r.equation);
  return prove_all(axioms, equations, processes, progress);
}

std::vector<Rule> load_rules(RuleFile file, int processes, const RulesDone& progress) {
  base::Diagnostics sink;
  const auto complain = [&](std::size_t i, const std::string& what, std::string hint) {
    sink.add(file.marks[i], fmt::format("rules[{}]", i), fmt::format("rule {} {}", file.rules[i].name, what), std::move(hint));
  };
  const std::string remove = "remove it, or generate the rules anew: foreshard rules generate --save FILE";
  const std::vector<Proof> proofs = verify(file, axioms(), processes, progress);
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    if (proofs[i].verdict != Verdict::proved) complain(i, "is " + why_not_proved(proofs[i]), remove);
    file.rules[i].axioms = proofs[i].axioms;
    file.rules[i].proof_s = proofs[i].seconds;
  }
  sink.throw_if_any();
  return std::move(file.rules);
}
std::vector<Rule> load_rules(const std::filesystem::path& path, int processes) { return load_rules(read_rules(path), processes); }

}  // namespace rules
