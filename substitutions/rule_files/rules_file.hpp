#pragma once
// Rules as files: YAML that says with which generator and axioms they were proved, and ends with a digest of all that it says. What is
// loaded is never taken on trust: a file as this generator wrote it from these axioms is typed and evaluated again, any other (older, or
// changed since by so much as an axiom's name) is proved again, whole.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "substitutions/proof/prove.hpp"

namespace substitutions {

struct RuleFile {
  std::string generator;          // version that wrote it
  std::string axioms;             // hash of the axioms that it was proved with
  std::string digest;             // of the rest when it was written; "none": written by hand
  std::vector<Rule> rules;        // sources are the left sides
  std::vector<base::Mark> marks;  // where each rule stands
};

[[nodiscard]] std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms);
// The digest that belongs to what the file says.
[[nodiscard]] std::string digest_of(const RuleFile& file);
// What the text says, well typed whatever its letters stand for and of equal layouts on both sides, but not verified. Throws:
// base::InputError with every problem found.
[[nodiscard]] RuleFile parse_rules(std::string text, const std::string& name);
[[nodiscard]] RuleFile read_rules(const std::filesystem::path& file);

// Why the proofs that the file speaks of are not those that this program would make: "it was changed after it was written". Empty: nothing
// says so. White space, comments and the style of the YAML do not matter.
[[nodiscard]] std::string distrust(const RuleFile& file, const Axioms& axioms);

using RulesDone = std::function<void(std::size_t done)>;  // may be empty

// Proofs of all rules of a file, in order.
[[nodiscard]] std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const RulesDone& progress);

// The rules of a file, verified: by evaluation at small sizes, or, where there is a reason for distrust, by proof; they then name the
// axioms and the time of that proof. Throws: base::InputError naming every rule that is false or cannot be proved; nothing is loaded then.
[[nodiscard]] std::vector<Rule> load_rules(RuleFile file, int processes, const RulesDone& progress = {});
[[nodiscard]] std::vector<Rule> load_rules(const std::filesystem::path& file, int processes);

}  // namespace substitutions
