#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/tree.hpp"

namespace base {

const Yaml* Yaml::find(std::string_view key) const {
  const auto it = std::ranges::find(entries, key, &Entry::key);
  return it == entries.end() ? nullptr : &it->value;
}

Yaml* Yaml::find(std::string_view key) { return const_cast<Yaml*>(std::as_const(*this).find(key)); }

void Yaml::set(std::string_view key, Yaml value, Mark key_mark) {
  if (is_null()) kind = Kind::map;
  BASE_CHECK(is_map(), "set(\"{}\") on a value that is no map", key);
  if (Yaml* there = find(key)) *there = std::move(value);
  else entries.push_back({std::string(key), std::move(key_mark), std::move(value)});
}

void Yaml::erase(std::string_view key) {
  std::erase_if(entries, [&](const Entry& e) { return e.key == key; });
}

Yaml Yaml::make_scalar(std::string text, Mark mark) {
  const bool quoted = !can_be_plain(text);
  return {.kind = Kind::scalar, .mark = std::move(mark), .scalar = std::move(text), .quoted = quoted};
}

Yaml Yaml::make_map(Mark mark) { return {.kind = Kind::map, .mark = std::move(mark)}; }

Yaml Yaml::make_sequence(Mark mark) { return {.kind = Kind::sequence, .mark = std::move(mark)}; }

}  // namespace base
