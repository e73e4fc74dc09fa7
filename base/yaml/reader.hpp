#pragma once
// Typed reads of a tree: a problem goes into a sink, with what was found and what to write instead.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/units.hpp"
#include "base/yaml/tree.hpp"

namespace base {

// Reads one map: every key that the format knows is asked for once by name; finish() reports the keys that no reader asked for,
// with the nearest known name. All methods put what is wrong into `sink` and return nullopt. Quantities below 0 are
// reported too, and those that no machine has: all that is not 0 lies within bounds that keep sums and quotients finite.
class MapReader {
 public:
  // If `node` is no map, says so in `sink` (message: `PATH: expected a map, found ...`, hint: the example) and acts as an empty one.
  MapReader(const Yaml& node, std::string path, Diagnostics& sink, std::string_view example = {});

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
  // A number of things, of which there may be many: "2T", "300 B" (1e9, also "300G") and "5M" are read, too.
  std::optional<std::int64_t> amount(std::string_view key, std::int64_t at_least, std::int64_t at_most);
  std::optional<double> number(std::string_view key, double at_least = -1e308, double at_most = 1e308);
  std::optional<bool> boolean(std::string_view key);
  std::optional<Seconds> seconds(std::string_view key);
  std::optional<Bytes> bytes(std::string_view key);
  std::optional<BytesPerSecond> bandwidth(std::string_view key);
  std::optional<FlopsPerSecond> flops_rate(std::string_view key);
  std::optional<Watts> power(std::string_view key);
  std::optional<Dollars> dollars(std::string_view key);
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
  template <class T>
  std::optional<T> read(std::string_view key, std::optional<T> (*as)(const Yaml&, const std::string&, Diagnostics&));

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

}  // namespace base
