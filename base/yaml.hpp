#pragma once
// YAML as a value: a tree that remembers where each part was written, so that it can be patched (presets, what-ifs)
// and still give file:line:column afterwards. JSON is YAML too. Not here: what the keys mean.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/units.hpp"

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

// Throws: InputError: not YAML, more than one document, a duplicate key (all of them at once), an unreadable or empty file.
[[nodiscard]] Yaml parse_yaml(std::string text, std::string name);
[[nodiscard]] Yaml read_yaml(const std::filesystem::path& file);
// Block style, two spaces; what is at most two levels deep and fits in 120 columns is one line. parse(emit(y)) == y but for marks.
[[nodiscard]] std::string emit_yaml(const Yaml& y);

// Reads one map: every key that the format knows is asked for once by name; finish() reports the keys nobody asked for,
// with the nearest known name. All methods put what is wrong into `sink` and return nullopt (or the default).
class MapReader {
 public:
  // If `node` is no map, says so in `sink` (message: `PATH: expected a map ..., found ...`) and acts as an empty one.
  MapReader(const Yaml& node, std::string path, Diagnostics& sink);

  [[nodiscard]] const Yaml* optional(std::string_view key);
  [[nodiscard]] const Yaml* required(std::string_view key);  // reports when missing
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Yaml& node() const { return *node_; }
  [[nodiscard]] Diagnostics& sink() { return *sink_; }

  // Typed reads of an optional key: nullopt when absent or wrong (wrong is reported).
  std::optional<std::string> text(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t at_least = INT64_MIN, std::int64_t at_most = INT64_MAX);
  std::optional<double> number(std::string_view key, double at_least = -1e308, double at_most = 1e308);
  std::optional<bool> boolean(std::string_view key);
  std::optional<Seconds> seconds(std::string_view key);
  std::optional<Bytes> bytes(std::string_view key);
  std::optional<BytesPerSecond> bandwidth(std::string_view key);
  std::optional<FlopsPerSecond> flops_rate(std::string_view key);
  // Our files say which version of their format they are in: `foreshard: 1`. Reports another version, and that it is missing.
  void format();
  // The index in `names` of the text found.
  std::optional<std::size_t> choice(std::string_view key, std::span<const std::string> names);
  // Reports that `key` is missing unless it was there (right or wrong).
  void require(std::string_view key);
  // Reports a problem at a key's value (at the map, when the key is absent).
  void complain(std::string_view key, std::string message, std::string hint = {});
  // Call last: reports unknown keys.
  void finish();

 private:
  const Yaml* node_;
  std::string path_;
  Diagnostics* sink_;
  std::vector<std::string> known_;
};

// The same conversions for a value outside a map (an item of a sequence).
[[nodiscard]] std::optional<std::int64_t> as_integer(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<double> as_number(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<bool> as_boolean(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<std::string> as_text(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<Seconds> as_seconds(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<Bytes> as_bytes(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<BytesPerSecond> as_bandwidth(const Yaml& y, const std::string& path, Diagnostics& sink);
[[nodiscard]] std::optional<FlopsPerSecond> as_flops_rate(const Yaml& y, const std::string& path, Diagnostics& sink);

// Patches `root` at a dotted path ("links.infiniband.bandwidth", "wires[2].link"). A value "4x" or "+10%"/"-10%" scales what
// is there (number kept with its unit; an integer must stay one); anything else replaces it, maps are merged.
// A value that stands for a quantity with a unit must carry one: replacing "12.5 GB/s" by 400 is refused with the cure.
// Reports in `sink` an unknown path with the nearest known one (unless may_add), a scaling of something that is no number.
void patch_yaml(Yaml& root, std::string_view dotted_path, const Yaml& value, Diagnostics& sink, const std::string& value_path,
                bool may_add = false);

}  // namespace base
