#include "profiles/published/published.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/diagnostics.hpp"
#include "profiles/published/published_files.hpp"

namespace profiles {
namespace {

struct Amount {
  double value = 0;
  PublishedUnit unit = PublishedUnit::seconds;
};

// "4.63 samples/s" with the unit "samples/s".
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  while (text.ends_with(' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Amount> parse_amount(const std::string& text) {
  if (const auto percent = number_before(text, "%")) return Amount{*percent / 100, PublishedUnit::share};
  if (const auto rate = number_before(text, "samples/s")) return Amount{*rate, PublishedUnit::samples_per_second};
  if (const auto time = base::parse_seconds(text)) return Amount{time->value(), PublishedUnit::seconds};
  if (const auto bytes = base::parse_bytes(text)) return Amount{bytes->value(), PublishedUnit::bytes};
  if (const auto rate = base::parse_flops_rate(text)) return Amount{rate->value(), PublishedUnit::flops_per_second};
  return std::nullopt;
}

// A number that is no count: it needs a unit.
bool is_bare_fraction(const std::string& text) { return number_before(text, "") && text.find_first_of(".eE") != std::string::npos; }

class PublishedReader {
 public:
  explicit PublishedReader(base::Diagnostics& sink) : sink_(sink) {}

  PublishedTable read(const base::Yaml& document) {
    base::MapReader map(document, "", sink_);
    map.format();
    PublishedTable table;
    if (const auto* section = map.required("published")) read_table(*section, table);
    map.finish();
    return table;
  }

 private:
  void read_table(const base::Yaml& section, PublishedTable& table) {
    base::MapReader map(section, "published", sink_);
    table.title = map.text("title").value_or("");
    table.source = map.text("source").value_or("");
    table.seen = map.text("seen").value_or("");
    for (const char* key : {"title", "source"}) {
      map.require(key);
      if (map.has(key) && map.node().find(key)->is_scalar() && map.node().find(key)->scalar.empty()) map.complain(key, "cannot be empty");
    }
    const auto* figures = map.required("figures");
    map.finish();
    if (figures == nullptr) return;
    if (!figures->is_sequence() || figures->items.empty()) return map.complain("figures", "expected a list of at least one figure");
    for (std::size_t i = 0; i < figures->items.size(); ++i) read_figure(figures->items[i], fmt::format("published.figures[{}]", i), table);
  }

  void read_figure(const base::Yaml& item, const std::string& path, PublishedTable& table) {
    base::MapReader map(item, path, sink_);
    PublishedFigure figure;
    figure.name = map.text("name").value_or("");
    figure.quantity = map.text("quantity").value_or("");
    figure.note = map.text("note").value_or("");
    figure.at_least = map.has("at_least");
    if (map.has("value") == figure.at_least) map.complain("name", "a figure has either \"value\" or \"at_least\"");
    for (const char* key : {"value", "at_least"}) read_amount(map, key, figure);
    if (const auto* setting = map.optional("setting")) read_setting(*setting, map.path_of("setting"), figure);
    for (const char* key : {"name", "quantity"}) map.require(key);
    map.finish();
    if (table.find(figure.name, figure.quantity) != nullptr)
      map.complain("name", fmt::format("\"{}\" has two figures for \"{}\"", figure.name, figure.quantity));
    table.figures.push_back(std::move(figure));
  }

  void read_amount(base::MapReader& map, const char* key, PublishedFigure& figure) {
    const auto text = map.text(key);
    if (!text) return;
    const auto amount = parse_amount(*text);
    if (!amount)
      return map.complain(key, fmt::format("\"{}\" is no number with a unit", *text),
                          "write e.g. \"142 TFLOP/s\", \"1.42 s\" or \"8.37 %\"");
    if (!(amount->value > 0)) map.complain(key, "a published figure is above 0");
    figure.value = amount->value;
    figure.unit = amount->unit;
    figure.text = *text;
  }

  void read_setting(const base::Yaml& setting, const std::string& path, PublishedFigure& figure) {
    base::MapReader map(setting, path, sink_);
    if (!setting.is_map()) return;
    for (const auto& entry : setting.entries) {
      const auto text = map.text(entry.key);
      if (!text) continue;
      if (is_bare_fraction(*text)) map.complain(entry.key, fmt::format("\"{}\" has no unit", *text), "only counts stand without one");
      figure.setting.emplace_back(entry.key, *text);
    }
  }

  base::Diagnostics& sink_;
};

std::map<std::string, PublishedTable, std::less<>> load_shipped() {
  std::map<std::string, PublishedTable, std::less<>> tables;
  for (const auto& [name, text] : published_files())
    tables.emplace(name, load_published(base::parse_yaml(std::string(text), fmt::format("<published {}>", name)), std::string(name)));
  return tables;
}

}  // namespace

std::optional<std::string> PublishedFigure::setting_of(const std::string& key) const {
  const auto at = std::ranges::find(setting, key, &std::pair<std::string, std::string>::first);
  return at == setting.end() ? std::nullopt : std::optional(at->second);
}

const PublishedFigure* PublishedTable::find(const std::string& figure, const std::string& quantity) const {
  const auto at = std::ranges::find_if(figures, [&](const PublishedFigure& f) { return f.name == figure && f.quantity == quantity; });
  return at == figures.end() ? nullptr : &*at;
}

PublishedTable load_published(const base::Yaml& document, std::string name) {
  base::Diagnostics sink;
  auto table = PublishedReader(sink).read(document);
  sink.throw_if_any();
  table.name = std::move(name);
  return table;
}

std::vector<std::string> published_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : published_files()) names.emplace_back(name);
  return names;
}

const PublishedTable& published_table(const std::string& name) {
  static const auto kShipped = load_shipped();  // constant data, read once
  const auto at = kShipped.find(name);
  if (at != kShipped.end()) return at->second;
  base::Diagnostics sink;
  sink.add({}, "", fmt::format("no published table is called \"{}\"", name), base::suggest(name, published_names()));
  sink.throw_if_any();
  return kShipped.begin()->second;  // not reached
}

}  // namespace profiles
