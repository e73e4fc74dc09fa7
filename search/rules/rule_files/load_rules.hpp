#pragma once
// Rules of a file, proved. No file is taken on trust, whatever it says of itself: anyone can write the digest of any text.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "search/rules/proof/prove.hpp"
#include "search/rules/rule_files/rule_file.hpp"

namespace rules {

// Returns why the file is not as this generator writes it from these axioms: "it was changed after it was written". Empty: it is so. This
// says where a file may come from, not that it is true.
[[nodiscard]] std::string why_not_as_written(const RuleFile& file, const Axioms& axioms);

using RulesDone = std::function<void(std::size_t done)>;  // may be empty

// Returns new proofs of all rules of a file, in order.
[[nodiscard]] std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const RulesDone& progress);

// Return the rules of a file, each proved again; they name the axioms and the time of that proof.
// Throw: base::InputError naming every rule that is false or cannot be proved; nothing is loaded then.
// Cost: under 1 ms a rule, divided by the processes.
[[nodiscard]] std::vector<Rule> load_rules(RuleFile file, int processes, const RulesDone& progress = {});
[[nodiscard]] std::vector<Rule> load_rules(const std::filesystem::path& file, int processes);

}  // namespace rules
