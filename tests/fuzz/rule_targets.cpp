#include "base/yaml/parse.hpp"
#include "substitutions/axioms/axioms.hpp"
#include "substitutions/published/published_read.hpp"
#include "substitutions/rule_files/load_rules.hpp"
#include "substitutions/rule_files/rule_file_read.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {

void read_rules(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] {
    const substitutions::RuleFile rules = substitutions::read_rules(file.path());
    (void)substitutions::why_not_as_written(rules, substitutions::axioms());
  });
}

void read_published_rules(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] { (void)substitutions::read_published(file.path()); });
}

}  // namespace fuzz
