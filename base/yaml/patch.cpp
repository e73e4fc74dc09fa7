#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/numbers.hpp"
#include "base/units.hpp"
#include "base/yaml/patch.hpp"

namespace base {
namespace {

struct Step {
  std::string key;                   // of a map, or
  std::optional<std::size_t> index;  // of a sequence
};

// "wires[2].link" -> wires, 2, link; nullopt when it is no path.
std::optional<std::vector<Step>> parse_path(std::string_view text) {
  std::vector<Step> steps;
  for (bool first = true; !text.empty() || first; first = false) {
    if (!first && text.front() == '[') {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), index);
      if (error != std::errc() || end == text.data() + text.size() || *end != ']') return std::nullopt;
      steps.push_back({{}, index});
      text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
      continue;
    }
    if (!first) {
      if (text.front() != '.') return std::nullopt;
      text.remove_prefix(1);
    }
    const std::size_t end = std::min(text.find_first_of(".["), text.size());
    if (end == 0) return std::nullopt;
    steps.push_back({std::string(text.substr(0, end)), {}});
    text.remove_prefix(end);
  }
  return steps;
}

// The value that a step leads to, or nullptr.
Yaml* next_at(Yaml& here, const Step& step) {
  if (!step.index) return here.find(step.key);
  return *step.index < here.items.size() ? &here.items[*step.index] : nullptr;
}

struct NumberText {
  double number;
  std::string_view digits, rest;  // "12.5", " GB/s"
};

std::optional<NumberText> split_number(std::string_view text) {
  const std::string_view unsigned_text = text.starts_with('+') ? text.substr(1) : text;
  double number = 0;
  const auto [end, error] = std::from_chars(unsigned_text.data(), unsigned_text.data() + unsigned_text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const auto length = static_cast<std::size_t>(end - text.data());
  return NumberText{number, text.substr(0, length), text.substr(length)};
}

// The factor of "4x", "+10%" or "-10%".
std::optional<double> factor_of(const Yaml& value) {
  const auto n = value.is_scalar() ? split_number(value.scalar) : std::nullopt;
  if (!n) return std::nullopt;
  if (n->rest == "x") return n->number;
  const bool is_signed = value.scalar.starts_with('+') || value.scalar.starts_with('-');
  return n->rest == "%" && is_signed ? std::optional(1 + n->number / 100) : std::nullopt;
}

// "200%", "4 x", "x4", "*4", "+1": a change was meant.
bool is_almost_factor(const Yaml& value) {
  std::string digits = value.scalar;
  const bool has_mark = digits.starts_with('+') || digits.find_first_of("x*%") != std::string::npos;
  std::erase_if(digits, [](char c) { return c == 'x' || c == '*' || c == '%' || c == ' '; });
  const auto n = value.is_scalar() && has_mark ? split_number(digits) : std::nullopt;
  return n && n->rest.empty();
}

std::optional<Dimension> dimension_of(std::string_view text) {
  if (parse_seconds(text)) return Dimension::time;
  if (parse_bytes(text)) return Dimension::bytes;
  if (parse_bandwidth(text)) return Dimension::bandwidth;
  if (parse_flops_rate(text)) return Dimension::flops_rate;
  return std::nullopt;
}

std::string number_text(double x) {
  return x == std::round(x) && std::abs(x) <= kLargestExactInteger ? fmt::format("{:.0f}", x) : fmt::format("{:.12g}", x);
}

struct Patch {
  Diagnostics& sink;
  const std::string& value_path;
  UnknownKey unknown;

  void complain(const Yaml& value, std::string message, std::string hint = {}) const {
    sink.add(value.mark, value_path, std::move(message), std::move(hint));
  }

  void scale(Yaml& target, const Yaml& value, double factor, const std::string& path) const {
    const auto n = target.is_scalar() ? split_number(target.scalar) : std::nullopt;
    if (!n)
      return complain(value, fmt::format("\"{}\" scales a number, but {} is {}", value.scalar, path,
                                         target.is_scalar() ? "\"" + target.scalar + "\"" : "none"));
    double scaled = n->number * factor;
    if (n->rest.empty() && n->digits.find_first_not_of("+-0123456789") == std::string_view::npos) {
      // 1.1 * 10 is 11.000000000000002: what is left after 12 digits is rounding.
      const double nearest = std::round(scaled);
      if (std::abs(scaled - nearest) > 1e-12 * std::abs(scaled))
        return complain(
            value, fmt::format("{} = {} scaled by \"{}\" is {:.12g}, which is not an integer", path, target.scalar, value.scalar, scaled),
            "write the new value instead");
      scaled = nearest;
    }
    target.scalar = number_text(scaled) + std::string(n->rest);
    target.mark = value.mark;
  }

  void replace(Yaml& target, const Yaml& value) const {
    if (is_almost_factor(value))
      return complain(value, fmt::format("\"{}\" is neither a value nor a factor", value.scalar),
                      R"(write e.g. "4x", "+10%" or "-10%", or the new value)");
    const auto dimension = target.is_scalar() ? dimension_of(target.scalar) : std::nullopt;
    const auto n = dimension && value.is_scalar() ? split_number(value.scalar) : std::nullopt;
    if (n && n->rest.empty()) return complain(value, fmt::format("\"{}\" has no unit", value.scalar), std::string(example_of(*dimension)));
    target = value;
  }

  void merge(Yaml& target, const Yaml& value, const std::string& path) const {
    for (const Yaml::Entry& entry : value.entries) {
      if (Yaml* there = target.find(entry.key)) apply(*there, entry.value, path + "." + entry.key);
      else if (unknown == UnknownKey::add) add(target, entry.key, entry.value, path + "." + entry.key, entry.key_mark);
      else complain_unknown(target, {entry.key, {}}, path, {}, entry.value);
    }
  }

  void apply(Yaml& target, const Yaml& value, const std::string& path) const {
    if (const auto factor = factor_of(value)) scale(target, value, *factor, path);
    else if (target.is_map() && value.is_map()) merge(target, value, path);
    else replace(target, value);
  }

  void add(Yaml& map, const std::string& key, const Yaml& value, const std::string& path, const Mark& key_mark) const {
    if (factor_of(value))
      return complain(value, fmt::format("\"{}\" scales a number, but {} is not set", value.scalar, path), "write the value itself");
    map.set(key, value, key_mark);
  }

  // `rest` is what the path says after the step.
  void complain_unknown(const Yaml& parent, const Step& step, const std::string& parent_path, const std::string& rest,
                        const Yaml& value) const {
    const std::string place = parent_path.empty() ? "the top" : parent_path;
    if (step.index) {
      if (!parent.is_sequence()) return complain(value, fmt::format("{} is no list, so it has no [{}]", place, *step.index));
      return complain(value, fmt::format("{} has {} items, so no [{}]", place, parent.items.size(), *step.index), "counted from 0");
    }
    if (!parent.is_map())
      return complain(value, fmt::format("{} is {}, so it has no \"{}\"", place, parent.is_sequence() ? "a list" : "no map", step.key));
    std::vector<std::string> known;
    for (const Yaml::Entry& entry : parent.entries) known.push_back(entry.key);
    const std::string prefix = parent_path.empty() ? "" : parent_path + ".", near = nearest_name(step.key, known);
    complain(value, fmt::format("unknown key \"{}{}\"", prefix, step.key),
             near.empty() ? suggest(step.key, known) : fmt::format("did you mean \"{}{}{}\"?", prefix, near, rest));
  }
};

}  // namespace

void patch_yaml(Yaml& root, std::string_view dotted_path, const Yaml& value, Diagnostics& sink, const std::string& value_path,
                UnknownKey unknown) {
  const Patch patch{sink, value_path, unknown};
  const auto steps = parse_path(dotted_path);
  if (!steps)
    return patch.complain(value, fmt::format("\"{}\" is not a path", dotted_path),
                          R"(write e.g. "links.infiniband.bandwidth" or "wires[2].link")");
  Yaml* here = &root;
  std::string path;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Step& step = (*steps)[i];
    const std::string parent_path = path;
    path += step.index ? fmt::format("[{}]", *step.index) : (path.empty() ? "" : ".") + step.key;
    Yaml* next = next_at(*here, step);
    if (!next) {
      const bool can_add = unknown == UnknownKey::add && !step.index && (here->is_map() || here->is_null());
      if (!can_add) return patch.complain_unknown(*here, step, parent_path, std::string(dotted_path.substr(path.size())), value);
      if (i + 1 == steps->size()) return patch.add(*here, step.key, value, path, value.mark);
      here->set(step.key, Yaml::make_map(value.mark), value.mark);
      next = here->find(step.key);
    }
    here = next;
  }
  patch.apply(*here, value, path);
}

Yaml* find_at(Yaml& root, std::string_view dotted_path) {
  Yaml* here = &root;
  const auto steps = parse_path(dotted_path);
  if (!steps) return nullptr;
  for (std::size_t i = 0; here != nullptr && i < steps->size(); ++i) here = next_at(*here, (*steps)[i]);
  return here;
}

}  // namespace base
