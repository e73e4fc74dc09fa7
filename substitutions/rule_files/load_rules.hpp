#pragma once
// Rules of a file, verified. No file is taken on trust: a file as this generator wrote it from these axioms is typed and evaluated again,
// any other (older, or changed since by so much as an axiom's name) is proved again, whole.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "substitutions/proof/prove.hpp"
#include "substitutions/rule_files/rule_file.hpp"

namespace substitutions {

// Returns why the file's own proofs do not count and its rules have to be proved again: "it was changed after it was written". Empty: they
// count.
[[nodiscard]] std::string reverification_reason(const RuleFile& file, const Axioms& axioms);

using RulesDone = std::function<void(std::size_t done)>;  // may be empty

// Returns new proofs of all rules of a file, in order.
[[nodiscard]] std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const RulesDone& progress);

// Return the rules of a file, verified by evaluation at small sizes, or, where there is a reason for re-verification, by proof; they then
// name the axioms and the time of that proof.
// Throw: base::InputError naming every rule that is false or cannot be proved; nothing is loaded then.
[[nodiscard]] std::vector<Rule> load_rules(RuleFile file, int processes, const RulesDone& progress = {});
[[nodiscard]] std::vector<Rule> load_rules(const std::filesystem::path& file, int processes);

}  // namespace substitutions
