#include "base/csv.hpp"
#include "base/numbers.hpp"
#include "base/units.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {

void read_yaml(std::string_view bytes) {
  refused_or_read([&] {
    const base::Yaml y = base::parse_yaml(std::string(bytes), "input.yaml");
    base::Diagnostics sink;
    base::MapReader r(y, "", sink);
    if (y.is_map())
      for (const base::Yaml::Entry& e : y.entries) {
        (void)r.integer(e.key, 0, 10);
        (void)r.number(e.key);
        (void)r.boolean(e.key);
        (void)r.seconds(e.key);
        (void)r.bytes(e.key);
        (void)r.bandwidth(e.key);
        (void)r.flops_rate(e.key);
      }
    if (!y.is_map() || y.entries.empty()) return;
    const std::string text = base::emit_yaml(y);
    const std::string again = base::emit_yaml(base::parse_yaml(text, "again.yaml"));
    BASE_CHECK(text == again, "{} is read as {}", text, again);
  });
}

void read_csv(std::string_view bytes) {
  refused_or_read([&] { (void)base::parse_csv(std::string(bytes), "input.csv"); });
}

void read_units(std::string_view bytes) {
  (void)base::parse_number(bytes);
  (void)base::parse_integer(bytes);
  if (const auto s = base::parse_seconds(bytes)) (void)base::to_text(*s);
  if (const auto b = base::parse_bytes(bytes)) (void)base::to_text(*b);
  if (const auto r = base::parse_bandwidth(bytes)) (void)base::to_text(*r);
  if (const auto f = base::parse_flops_rate(bytes)) (void)base::to_text(*f);
}

}  // namespace fuzz
