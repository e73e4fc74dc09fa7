#include "search/rules/rule_files/rule_file_write.hpp"

#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/yaml/emit.hpp"
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
  Yaml y = Yaml::make_map();
  y.set("name", Yaml::make_scalar(r.name));
  y.set("kind", Yaml::make_scalar(std::string(name_of(kind_of(r.equation)))));
  std::vector<std::string> variables;
  for (const Variable& v : r.equation.variables()) variables.push_back(to_text(v));
  y.set("variables", list_of(variables));
  y.set("source", Yaml::make_scalar(to_text(r.source(), r.equation.variables())));
  y.set("target", Yaml::make_scalar(to_text(r.target(), r.equation.variables())));
  y.set("axioms", list_of(r.axioms));
  return y;
}

// Quotes keep a version or a digest of digits alone a text.
Yaml quoted(std::string text) {
  Yaml y = Yaml::make_scalar(std::move(text));
  y.quoted = true;
  return y;
}

// All that a file says, but for the digest.
Yaml written(const std::string& generator, const std::string& axioms, const std::vector<Rule>& rules) {
  Yaml y = Yaml::make_map();
  y.set("foreshard", Yaml::make_scalar("1"));
  y.set("generator", quoted(generator));
  y.set("axioms", quoted(axioms));
  Yaml list = Yaml::make_sequence();
  for (const Rule& r : rules) list.items.push_back(written(r));
  y.set("rules", std::move(list));
  return y;
}
std::string digest_of(const Yaml& y) { return fmt::format("{:016x}", base::hash_text(base::emit_yaml(y))); }

}  // namespace

std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms) {
  Yaml y = written(std::string(kGeneratorVersion), axioms.hash, rules);
  y.set("digest", quoted(digest_of(y)));
  return base::emit_yaml(y);
}

std::string digest_of(const RuleFile& file) { return digest_of(written(file.generator, file.axioms, file.rules)); }

}  // namespace rules
