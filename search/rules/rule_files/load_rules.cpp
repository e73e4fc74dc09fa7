#include "search/rules/rule_files/load_rules.hpp"

#include <fmt/core.h>

#include "search/rules/generation/generate.hpp"
#include "search/rules/proof/prove_all.hpp"
#include "search/rules/rule_files/rule_file_read.hpp"
#include "search/rules/rule_files/rule_file_write.hpp"

namespace rules {
namespace {

std::vector<TypedEquation> equations_of(const RuleFile& file) {
  std::vector<TypedEquation> all;
  for (const Rule& r : file.rules) all.push_back(r.equation);
  return all;
}

}  // namespace

std::string why_not_as_written(const RuleFile& file, const Axioms& axioms) {
  if (file.digest == "none") return "it was written by hand";
  if (file.generator != kGeneratorVersion)
    return fmt::format("generator \"{}\" wrote it, this is generator \"{}\"", file.generator, kGeneratorVersion);
  if (file.axioms != axioms.hash) return fmt::format("it rests on the axioms {}, which now are {}", file.axioms, axioms.hash);
  if (file.digest != digest_of(file)) return "it was changed after it was written";
  return "";
}

std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const RulesDone& progress) {
  return prove_all(axioms, {}, equations_of(file), processes, progress);
}

std::vector<Rule> load_rules(RuleFile file, int processes, const RulesDone& progress) {
  base::Diagnostics sink;
  const auto complain = [&](std::size_t i, const std::string& what, std::string hint) {
    sink.add(file.marks[i], fmt::format("rules[{}]", i), fmt::format("rule {} {}", file.rules[i].name, what), std::move(hint));
  };
  const std::string remove = "remove it, or generate the rules anew: foreshard rules generate --save FILE";
  const std::vector<Proof> proofs = verify(file, axioms(), processes, progress);
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    if (proofs[i].verdict == Verdict::refuted) complain(i, "is false: " + proofs[i].counterexample->text, remove);
    if (proofs[i].verdict == Verdict::open) complain(i, "is not proved by the axioms of this version", remove);
    file.rules[i].axioms = proofs[i].axioms;
    file.rules[i].proof_s = proofs[i].seconds;
  }
  sink.throw_if_any();
  return std::move(file.rules);
}
std::vector<Rule> load_rules(const std::filesystem::path& path, int processes) { return load_rules(read_rules(path), processes); }

}  // namespace rules
