#include "base/yaml/parse.hpp"
#include "search/rules/axioms/axioms.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {

void read_rules(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] {
    const rules::RuleFile rules = rules::read_rules(file.path());
    (void)rules::why_not_as_written(rules, rules::axioms());
  });
}

}  // namespace fuzz
