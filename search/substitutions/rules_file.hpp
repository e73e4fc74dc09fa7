#pragma once
// Rules as files: YAML that says with which generator and axioms they were proved. What is loaded is never taken on trust: a file of this
// generator and these axioms is typed and evaluated again, any other is proved again.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "search/substitutions/prove.hpp"

namespace substitutions {

struct RuleFile {
  std::string generator;          // version that wrote it
  std::string axioms;             // hash of the axioms that it was proved with
  std::vector<Rule> rules;        // sources are the left sides
  std::vector<base::Mark> marks;  // where each rule stands
};

[[nodiscard]] std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms);
// What the text says, well typed and of equal layouts on both sides, but not verified. Throws: base::InputError with every problem found.
[[nodiscard]] RuleFile parse_rules(std::string text, const std::string& name);
[[nodiscard]] RuleFile read_rules(const std::filesystem::path& file);

// Proofs of all rules of a file, in order. `progress` is told how many are done; it may be empty.
[[nodiscard]] std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const std::function<void(std::size_t)>& progress);

// The rules of a file, verified: by evaluation at small sizes where the file names this generator and these axioms, else by proof.
// Throws: base::InputError naming every rule that is false or cannot be proved; nothing is loaded then.
[[nodiscard]] std::vector<Rule> load_rules(const std::filesystem::path& file, int processes);

}  // namespace substitutions
