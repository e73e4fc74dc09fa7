#pragma once
// Rule files from YAML.

#include <filesystem>
#include <string>

#include "search/rules/rule_files/rule_file.hpp"

namespace rules {

// Return the rules of a file. They are well typed whatever their letters stand for, and the two sides have equal layouts; load_rules.hpp
// verifies that they are true.
// Throw: base::InputError with every problem found.
[[nodiscard]] RuleFile parse_rules(std::string text, const std::string& name);
[[nodiscard]] RuleFile read_rules(const std::filesystem::path& file);

}  // namespace rules
