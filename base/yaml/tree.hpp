#pragma once
// A YAML file as a value: a tree that remembers where each part was written, so that it can be patched (presets, what-ifs) and still give
// file:line:column afterwards. JSON is YAML too. Not here: what the keys mean (base/yaml/reader.hpp asks for them by name).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"

namespace base {

class Yaml {
 public:
  enum class Kind { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  Mark mark;
  std::string scalar;          // text of a scalar, quotes removed
  bool quoted = false;         // it was written in quotes: then it is text, never a number
  std::vector<Yaml> items;     // of a sequence
  std::vector<Entry> entries;  // of a map, in file order, keys unique

  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  [[nodiscard]] bool is_sequence() const { return kind == Kind::sequence; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_null() const { return kind == Kind::null; }
  // The value of `key` in a map, or nullptr. O(number of keys).
  [[nodiscard]] const Yaml* find(std::string_view key) const;
  [[nodiscard]] Yaml* find(std::string_view key);
  // Sets or adds a key of a map (a null value becomes a map).
  // Requires: a map or null.
  void set(std::string_view key, Yaml value, Mark key_mark = {});
  void erase(std::string_view key);

  static Yaml make_scalar(std::string text, Mark mark = {});
  static Yaml make_map(Mark mark = {});
  static Yaml make_sequence(Mark mark = {});
};

struct Yaml::Entry {
  std::string key;
  Mark key_mark;
  Yaml value;
};

// A map with these keys, in order: map_of({{"from", a}, {"to", b}}).
template <std::size_t n>
[[nodiscard]] Yaml map_of(std::pair<std::string_view, Yaml> (&&entries)[n]) {
  Yaml map = Yaml::make_map();
  for (auto& [key, value] : entries) map.set(key, std::move(value));
  return map;
}

}  // namespace base
