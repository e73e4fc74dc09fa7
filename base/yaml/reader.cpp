#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/yaml/reader.hpp"

namespace base {
namespace {

// Keys that had another name before, for files that still have it. Which map they are in does not matter: the hint is given where the map
// has the new key.
struct Renamed {
  std::string_view before, now;
};
constexpr Renamed kRenamed[] = {
#include "base/yaml/renamed_keys.inc"
};
// Words of other tools and of papers for our keys.
struct FieldWord {
  std::string_view word, key, advice;
};
constexpr FieldWord kFieldWords[] = {
#include "base/yaml/field_words.inc"
};
// Keys that are gone, and why nothing takes their place.
constexpr Renamed kRemoved[] = {{"solver", "it is gone since 0.2.0: chains are solved exactly, as by `exact`"}};

std::string found(const Yaml& y) {
  if (y.is_scalar()) return (y.quoted ? "the text \"" : "\"") + y.scalar + "\"";
  return y.is_null() ? "nothing" : y.is_map() ? "a map" : "a list";
}

template <class T>
std::optional<T> whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool is_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

std::optional<double> plain_number(const Yaml& y) {
  if (!y.is_scalar() || y.quoted) return std::nullopt;
  const auto value = whole<double>(y.scalar);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// A key as other tools write it: --tensor-model-parallel-size is tensor_model_parallel_size.
std::string field_word(std::string_view key) {
  std::string word(key.substr(std::min(key.find_first_not_of('-'), key.size())));
  std::ranges::replace(word, '-', '_');
  std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return word;
}

// The cure for a key that the map has not, of those that it has.
std::string hint_for(const std::string& key, const std::vector<std::string>& known) {
  const auto is_known = [&](std::string_view k) { return std::ranges::find(known, k) != known.end(); };
  if (const auto renamed = std::ranges::find(kRenamed, key, &Renamed::before); renamed != std::end(kRenamed) && is_known(renamed->now))
    return fmt::format("it is called \"{}\" since 0.2.0", renamed->now);
  if (const auto removed = std::ranges::find(kRemoved, key, &Renamed::before); removed != std::end(kRemoved))
    return std::string(removed->now);
  std::string_view advice;  // where the key is in other maps
  for (const FieldWord& f : kFieldWords)
    if (f.word == field_word(key)) {
      if (is_known(f.key)) return fmt::format("it is called \"{}\" here", f.key);
      if (advice.empty()) advice = f.advice;
    }
  return advice.empty() ? suggest(key, known) : std::string(advice);
}

std::nullopt_t expected(const char* what, const Yaml& y, const std::string& path, Diagnostics& sink, std::string hint = {}) {
  sink.add(y.mark, path, fmt::format("expected {}, found {}", what, found(y)), std::move(hint));
  return std::nullopt;
}

// How the number is written that a text means: "4", 1,024, 1_024, 010, 128k, 2T, 2x, 2:1.
std::string number_hint(const Yaml& y) {
  if (!y.is_scalar()) return {};
  if (y.quoted) return whole<double>(y.scalar) ? "remove the quotes" : std::string();
  std::string text = y.scalar;
  std::erase_if(text, [](char c) { return c == '_' || c == ' '; });
  if (const std::size_t at = text.rfind(','); at != std::string::npos && at + 4 == text.size()) std::erase(text, ',');
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return {};
  const std::string unit(text, static_cast<std::size_t>(end - text.data()));
  const auto write = [](double x) { return fmt::format("write {:.12g}", x); };
  if (unit.empty() && std::abs(number) > kLargestExactInteger) return fmt::format("write at most {:.16g}", kLargestExactInteger);
  if (unit.empty()) return text != y.scalar || (text.starts_with('0') && is_digits(text)) ? write(number) : std::string();
  if (unit == "k" || unit == "K") return fmt::format("{}, or {:.12g}", write(number * 1000), number * 1024);
  if (unit == "x" || unit == ":1") return write(number);
  return unit == "M" || unit == "m"   ? write(number) + "e6"
         : unit == "B" || unit == "b" ? write(number) + "e9"
         : unit == "T" || unit == "t" ? write(number) + "e12"
                                      : std::string();
}

// A quantity is 0 or lies between these: times down to a femtosecond and up to 300 years, a thousandth of a byte to a billion TB, and so
// on. What lies outside is a slip of the pen, and sums and quotients of what lies inside stay finite.
template <class Q>
struct QuantityForm {
  const char* what;
  Dimension dimension;
  std::optional<Q> (*parse)(std::string_view);
  double least, most;
  const char *least_text, *most_text;
};
constexpr QuantityForm<Seconds> kTimeForm{"a time", Dimension::time, parse_seconds, 1e-15, 1e10, "1e-15 s", "1e10 s"};
constexpr QuantityForm<Bytes> kBytesForm{"a size in bytes", Dimension::bytes, parse_bytes, 1e-3, 1e21, "0.001 B", "1e9 TB"};
constexpr QuantityForm<BytesPerSecond> kBandwidthForm{"a bandwidth", Dimension::bandwidth, parse_bandwidth, 1, 1e18, "1 B/s", "1e6 TB/s"};
constexpr QuantityForm<FlopsPerSecond> kFlopsForm{
    "a rate of floating-point operations", Dimension::flops_rate, parse_flops_rate, 1, 1e24, "1 FLOP/s", "1e6 EFLOP/s"};
constexpr QuantityForm<Watts> kPowerForm{"a power", Dimension::power, parse_watts, 1e-9, 1e15, "1e-9 W", "1e9 MW"};
constexpr QuantityForm<Dollars> kMoneyForm{"an amount of money", Dimension::money, parse_dollars, 1e-6, 1e15, "1e-6 USD", "1e9 MUSD"};

template <const auto& form>
auto as_quantity(const Yaml& y, const std::string& path, Diagnostics& sink) -> decltype(form.parse("")) {
  const std::string hint(example_of(form.dimension));  // the cure is the same for every fault: a number with its unit
  if (!y.is_scalar()) return expected(form.what, y, path, sink, hint);
  const auto value = form.parse(y.scalar);
  if (value && value->value() < 0) {
    sink.add(y.mark, path, fmt::format("\"{}\" is negative", y.scalar));
    return std::nullopt;
  }
  if (value) {
    const bool low = value->value() < form.least;
    if (value->value() == 0 || (!low && value->value() <= form.most)) return value;
    sink.add(y.mark, path, fmt::format("\"{}\" is {} {}", y.scalar, low ? "below" : "above", low ? form.least_text : form.most_text), hint);
    return std::nullopt;
  }
  if (const auto bare = whole<double>(y.scalar); bare && std::isfinite(*bare))
    sink.add(y.mark, path, fmt::format("\"{}\" has no unit", y.scalar), hint);
  else sink.add(y.mark, path, fmt::format("\"{}\" is not {}", y.scalar, form.what), hint);
  return std::nullopt;
}

template <class T>
std::optional<T> in_range(std::optional<T> value, T at_least, T at_most, std::string_view name, const Yaml& y, const std::string& path,
                          Diagnostics& sink) {
  if (!value || (*value >= at_least && *value <= at_most)) return value;
  const bool low = *value < at_least;
  sink.add(y.mark, path, fmt::format("{} must be at {} {}, found {}", name, low ? "least" : "most", low ? at_least : at_most, y.scalar));
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> as_integer(const Yaml& y, const std::string& path, Diagnostics& sink) {
  // 010 is eight where YAML 1.1 is read, and ten elsewhere.
  const bool is_octal = y.is_scalar() && y.scalar.size() > 1 && y.scalar[0] == '0' && is_digits(y.scalar);
  if (is_octal) return expected("an integer", y, path, sink, number_hint(y));
  if (y.is_scalar() && !y.quoted)
    if (const auto value = whole<std::int64_t>(y.scalar)) return value;
  // 300e9 is an integer too.
  if (const auto value = plain_number(y); value && *value == std::floor(*value) && std::abs(*value) <= kLargestExactInteger)
    return static_cast<std::int64_t>(*value);
  return expected("an integer", y, path, sink, number_hint(y));
}

std::optional<double> as_number(const Yaml& y, const std::string& path, Diagnostics& sink) {
  if (const auto value = plain_number(y)) return value;
  if (y.is_scalar() && y.scalar.ends_with('%'))
    if (const auto percent = whole<double>(std::string_view(y.scalar).substr(0, y.scalar.find_last_not_of(" %") + 1)))
      return *percent / 100;
  return expected("a number", y, path, sink, number_hint(y));
}

std::optional<bool> as_boolean(const Yaml& y, const std::string& path, Diagnostics& sink) {
  if (y.is_scalar() && !y.quoted) {
    if (y.scalar == "true" || y.scalar == "True" || y.scalar == "TRUE") return true;
    if (y.scalar == "false" || y.scalar == "False" || y.scalar == "FALSE") return false;
  }
  constexpr std::string_view kYes[] = {"yes", "Yes", "on", "On", "1"}, kNo[] = {"no", "No", "off", "Off", "0"};
  const bool yes = std::ranges::find(kYes, y.scalar) != std::end(kYes), no = std::ranges::find(kNo, y.scalar) != std::end(kNo);
  return expected("true or false", y, path, sink, yes ? "write true" : no ? "write false" : std::string());
}

std::optional<std::string> as_text(const Yaml& y, const std::string& path, Diagnostics& sink) {
  if (y.is_scalar()) return y.scalar;
  return expected("text", y, path, sink);
}

MapReader::MapReader(const Yaml& node, std::string path, Diagnostics& sink, std::string_view example)
    : node_(&node), path_(std::move(path)), sink_(&sink) {
  if (!node.is_map()) expected("a map", node, path_, sink, example.empty() ? "" : fmt::format("write e.g. {}", example));
}

const Yaml* MapReader::optional(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return node_->find(key);
}

const Yaml* MapReader::required(std::string_view key) {
  require(key);
  return node_->find(key);
}

bool MapReader::has(std::string_view key) const { return node_->find(key) != nullptr; }

std::string MapReader::path_of(std::string_view key) const { return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key); }

template <class T>
std::optional<T> MapReader::read(std::string_view key, std::optional<T> (*as)(const Yaml&, const std::string&, Diagnostics&)) {
  const Yaml* y = optional(key);
  return y ? as(*y, path_of(key), *sink_) : std::nullopt;
}

std::optional<std::int64_t> MapReader::integer(std::string_view key, std::int64_t at_least, std::int64_t at_most) {
  const auto value = read(key, as_integer);
  return value ? in_range(value, at_least, at_most, key, *node_->find(key), path_of(key), *sink_) : value;
}

std::optional<double> MapReader::number(std::string_view key, double at_least, double at_most) {
  const auto value = read(key, as_number);
  return value ? in_range(value, at_least, at_most, key, *node_->find(key), path_of(key), *sink_) : value;
}

std::optional<std::int64_t> MapReader::amount(std::string_view key, std::int64_t at_least, std::int64_t at_most) {
  const Yaml* y = optional(key);
  if (y == nullptr) return std::nullopt;
  constexpr std::pair<char, double> kSuffixes[] = {{'M', 1e6}, {'B', 1e9}, {'G', 1e9}, {'T', 1e12}};
  const auto suffix = std::ranges::find(kSuffixes, y->scalar.empty() ? ' ' : y->scalar.back(), &std::pair<char, double>::first);
  Yaml plain = *y;
  if (suffix != std::end(kSuffixes) && !y->quoted)
    if (const auto number = whole<double>(std::string_view(y->scalar).substr(0, y->scalar.find_last_not_of(" ", y->scalar.size() - 2) + 1)))
      plain.scalar = fmt::format("{}", *number * suffix->second);
  Diagnostics problems;
  const auto value = as_integer(plain, path_of(key), problems);
  if (const std::string hint = number_hint(*y); !value)
    (void)expected("an integer", *y, path_of(key), *sink_, hint.empty() ? "write e.g. 300e9, 300B or 2T" : hint);
  return value ? in_range(value, at_least, at_most, key, *y, path_of(key), *sink_) : value;
}

std::optional<std::string> MapReader::text(std::string_view key) { return read(key, as_text); }
std::optional<bool> MapReader::boolean(std::string_view key) { return read(key, as_boolean); }
std::optional<Seconds> MapReader::seconds(std::string_view key) { return read(key, as_quantity<kTimeForm>); }
std::optional<Bytes> MapReader::bytes(std::string_view key) { return read(key, as_quantity<kBytesForm>); }
std::optional<BytesPerSecond> MapReader::bandwidth(std::string_view key) { return read(key, as_quantity<kBandwidthForm>); }
std::optional<FlopsPerSecond> MapReader::flops_rate(std::string_view key) { return read(key, as_quantity<kFlopsForm>); }
std::optional<Watts> MapReader::power(std::string_view key) { return read(key, as_quantity<kPowerForm>); }
std::optional<Dollars> MapReader::dollars(std::string_view key) { return read(key, as_quantity<kMoneyForm>); }

std::optional<std::size_t> MapReader::choice(std::string_view key, std::span<const std::string> names) {
  const Yaml* y = optional(key);
  const auto word = read(key, as_text);
  if (!word) return std::nullopt;
  const auto it = std::ranges::find(names, *word);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  // A boolean in place of a word: no word is near in meaning.
  const bool is_boolean = *word == "true" || *word == "false" || *word == "yes" || *word == "no";
  sink_->add(y->mark, path_of(key), fmt::format("unknown {} \"{}\"", key, *word),
             is_boolean ? fmt::format("write {}", fmt::join(names, " or ")) : suggest(*word, names));
  return std::nullopt;
}

void MapReader::require(std::string_view key) {
  // The constructor has said enough about a value that is no map.
  if (!optional(key) && node_->is_map()) sink_->add(node_->mark, path_, fmt::format("missing key \"{}\"", key));
}

void MapReader::format() {
  constexpr std::int64_t kFormat = 1;
  if (optional("foreshard") == nullptr && node_->is_map())
    sink_->add(node_->mark, path_, "missing key \"foreshard\"", fmt::format("write \"foreshard: {}\" in the first line", kFormat));
  if (const auto found = integer("foreshard"); found && *found != kFormat)
    complain("foreshard", fmt::format("format {} is not known", *found),
             fmt::format("files to read have format {}; results of run --json have another", kFormat));
}

void MapReader::complain(std::string_view key, std::string message, std::string hint) {
  const Yaml* y = node_->find(key);
  sink_->add(y ? y->mark : node_->mark, y ? path_of(key) : path_, std::move(message), std::move(hint));
}

void MapReader::finish() {
  for (const Yaml::Entry& entry : node_->entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    sink_->add(entry.key_mark, path_, fmt::format("unknown key \"{}\"", entry.key), hint_for(entry.key, known_));
  }
}

}  // namespace base
