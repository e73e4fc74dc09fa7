#include "profiles/fitted.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/yaml/reader.hpp"
#include "profiles/kinds.hpp"
#include "profiles/profile_files.hpp"

namespace profiles {
namespace {

constexpr double kThousandth = 1e-3;                             // corrections are written as whole thousandths of a natural logarithm
constexpr std::size_t kMostNodes = 20'000;                       // of a grid that is read: those that ship have below 500
constexpr std::array kAxisNames = {"rows", "columns", "inner"};  // of a product; of an attention: batch, keys, head dimension

// Numbers between blanks; anything else ends the list, so that the count does not fit.
std::vector<double> numbers(std::string_view text) {
  std::vector<double> values;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    while (at != end && *at == ' ') ++at;
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || !std::isfinite(value)) return values;
    values.push_back(value);
    at = next;
  }
}

// Calls read(reader of an item, fitted) for every item of a list.
void read_each(base::MapReader& map, const char* key, Fitted& f, void (*read)(base::MapReader&, Fitted&)) {
  const base::Yaml* list = map.optional(key);
  if (list == nullptr || list->is_null()) return;
  if (!list->is_sequence()) return map.complain(key, "expected a list");
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    base::MapReader item(list->items[i], fmt::format("{}[{}]", map.path_of(key), i), map.sink());
    read(item, f);
    item.finish();
  }
}

std::optional<MeasuredKernel> measured_kernel(std::string_view line) {
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto kind = find_kind(line.substr(0, first));
  const auto precision = find_precision(line.substr(first + 1, second - first - 1));
  const std::vector<double> v = numbers(line.substr(second));
  if (!kind || !precision || v.size() != 7 || !(v[6] > 0)) return std::nullopt;
  if (std::ranges::any_of(v, [](double x) { return x < 0 || x > 1e18; })) return std::nullopt;
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  const bool product = *kind == pcg::KernelKind::matmul || *kind == pcg::KernelKind::convolution || pcg::is_attention(*kind);
  return MeasuredKernel{*precision,
                        {.kind = *kind,
                         .flops = base::Flops(v[4]),
                         .bytes = base::Bytes(v[5]),
                         .batch = whole(v[0]),
                         .m = whole(v[1]),
                         .n = whole(v[2]),
                         .k = whole(v[3]),
                         .tensor_cores = product},
                        v[6]};
}

// Lines "KIND PRECISION batch m n k flops bytes seconds".
void read_measured(base::MapReader& map, Fitted& f) {
  const base::Yaml* list = map.optional("table");
  if (list == nullptr || list->is_null()) return;
  if (!list->is_sequence()) return map.complain("table", "expected a list of lines");
  for (const base::Yaml& line : list->items) {
    if (auto kernel = measured_kernel(line.scalar)) f.table.push_back(*kernel);
    else
      map.sink().add(line.mark, map.path_of("table"), fmt::format("\"{}\" is no measured kernel", line.scalar),
                     "write KIND PRECISION batch m n k flops bytes seconds");
  }
}

// What find(word) makes of the word at `key`; nullopt, and a complaint, where it is none of `what`.
template <class Find>
auto read_named(base::MapReader& map, const char* key, Find find, const char* what) {
  const auto name = map.text(key);
  map.require(key);
  const auto found = name ? find(*name) : std::nullopt;
  if (name && !found) map.complain(key, fmt::format("\"{}\" is no {}", *name, what));
  return found;
}

auto read_kind(base::MapReader& map) { return read_named(map, "kind", find_kind, "kind of kernel"); }
auto read_precision(base::MapReader& map) { return read_named(map, "precision", find_precision, "precision"); }

Provenance read_provenance(base::MapReader& map) {
  Provenance p;
  p.source = map.text("source").value_or("");
  map.require("source");
  p.command = map.text("command").value_or("");
  p.device = map.text("measured_on").value_or("");
  p.borrowed = map.boolean("borrowed").value_or(false);
  p.rows = static_cast<int>(map.integer("rows", 0, 1'000'000'000).value_or(0));
  p.error = map.number("error", 0).value_or(0);
  p.held_out_rows = static_cast<int>(map.integer("held_out_rows", 0, 1'000'000'000).value_or(0));
  p.held_out_error = map.number("held_out_error", 0).value_or(0);
  p.held_out_p90 = map.number("held_out_p90", 0).value_or(0);
  return p;
}

template <class Model, std::size_t n>
Model read_parameters(base::MapReader& map, const Parameter<Model> (&parameters)[n]) {
  return read_map(map, map.required("parameters"), "parameters", [&](base::MapReader& values) {
    Model model;
    for (const auto& [name, member] : parameters) {
      model.*member = values.number(name, 1e-18, 1e6).value_or(model.*member);
      values.require(name);
    }
    return model;
  });
}

void read_values(base::MapReader& map, LogGrid& g) {
  const base::Yaml* list = map.optional("thousandths");
  if (list == nullptr) return;
  if (!list->is_sequence()) return map.complain("thousandths", "expected a list of lines");
  for (const base::Yaml& line : list->items)
    for (const double v : numbers(line.scalar)) g.values.push_back(v * kThousandth);
  if (g.values.size() == g.nodes() && g.nodes() <= kMostNodes) return;
  map.complain("thousandths", fmt::format("{} numbers, but the axes have {} nodes", g.values.size(), g.nodes()));
  g.values.clear();
}

LogGrid read_grid(base::MapReader& map) {
  LogGrid g;
  for (std::size_t a = 0; a < 3; ++a) {
    g.axes[a] = numbers(map.text(kAxisNames[a]).value_or(""));
    map.require(kAxisNames[a]);
    if (g.axes[a].size() < 2 || !std::ranges::is_sorted(g.axes[a], std::less_equal<>{})) {
      map.complain(kAxisNames[a], "expected two or more logarithms in ascending order");
      g.axes[a] = {0, 1};
    }
  }
  read_values(map, g);
  return g;
}

void read_product(base::MapReader& map, Fitted& f) {
  const auto kind = read_kind(map);
  const auto p = read_precision(map);
  FittedProduct product;
  product.provenance = read_provenance(map);
  product.model = read_parameters(map, kProductParameters);
  product.correction = read_map(map, map.required("correction"), "correction", read_grid);
  if (kind && p) f.products[{*kind, *p}] = std::move(product);
}

void read_attention(base::MapReader& map, Fitted& f) {
  const auto kind = read_kind(map);
  if (kind && !pcg::is_attention(*kind)) map.complain("kind", fmt::format("\"{}\" is not attention", pcg::to_text(*kind)));
  const auto p = read_precision(map);
  FittedAttention attention;
  attention.provenance = read_provenance(map);
  attention.model = read_parameters(map, kAttentionParameters);
  if (kind && p) f.attentions[{*kind, *p}] = std::move(attention);
}

void read_fitted_rate(base::MapReader& map, Fitted& f) {
  const auto kind = read_kind(map);
  FittedRate rate;
  rate.provenance = read_provenance(map);
  rate.traffic.max = map.number("max", 1e-6, 1).value_or(1);
  rate.traffic.half = map.bytes("half").value_or(base::Bytes(0)).value();
  rate.smallest = map.bytes("smallest").value_or(base::Bytes(0));
  rate.largest = map.bytes("largest").value_or(base::Bytes(0));
  for (const char* key : {"max", "half", "smallest", "largest"}) map.require(key);
  if (kind) f.rates[*kind] = std::move(rate);
}

std::string provenance_text(const Provenance& p) {
  std::string text = fmt::format("        source: \"{}\"\n", p.source);
  if (!p.command.empty()) text += fmt::format("        command: \"{}\"\n", p.command);
  if (!p.device.empty()) text += fmt::format("        measured_on: \"{}\"\n", p.device);
  if (p.borrowed) text += "        borrowed: true   # of another chip, by its shares of the peaks\n";
  return text + fmt::format(
                    "        rows: {}\n        error: {:.4f}\n        held_out_rows: {}\n        held_out_error: {:.4f}\n        "
                    "held_out_p90: {:.4f}\n",
                    p.rows, p.error, p.held_out_rows, p.held_out_error, p.held_out_p90);
}

// A line for each row of the inner axis keeps the file readable, and a difference between two fits small.
std::string grid_text(const LogGrid& g) {
  std::string text = "        correction:\n";
  for (std::size_t a = 0; a < 3; ++a) text += fmt::format("          {}: \"{:.6g}\"\n", kAxisNames[a], fmt::join(g.axes[a], " "));
  if (g.values.empty()) return text;
  text += "          thousandths:\n";
  const std::size_t inner = g.axes[2].size();
  for (std::size_t i = 0; i < g.values.size(); i += inner) {
    text += "            - \"";
    for (std::size_t j = i; j < i + inner; ++j) text += fmt::format("{}{}", j > i ? " " : "", std::lround(g.values[j] / kThousandth));
    text += "\"\n";
  }
  return text;
}

template <class Model, std::size_t n>
std::string model_text(const std::pair<pcg::KernelKind, pcg::Precision>& key, const Provenance& provenance, const Model& model,
                       const Parameter<Model> (&parameters)[n]) {
  std::string text = fmt::format("      - kind: {}\n        precision: {}\n", pcg::to_text(key.first), pcg::to_text(key.second));
  text += provenance_text(provenance) + "        parameters:\n";
  for (const auto& [name, member] : parameters) text += fmt::format("          {}: {:.4g}\n", name, model.*member);
  return text;
}

std::string rate_text(pcg::KernelKind kind, const FittedRate& r) {
  return fmt::format("      - kind: {}\n", pcg::to_text(kind)) + provenance_text(r.provenance) +
         fmt::format("        max: {:.4g}\n        half: {:.0f} B\n        smallest: {:.0f} B\n        largest: {:.0f} B\n", r.traffic.max,
                     r.traffic.half, r.smallest.value(), r.largest.value());
}

}  // namespace

Fitted read_fitted(const base::Yaml& node, base::Diagnostics& sink) {
  base::MapReader map(node, "device.fitted", sink);
  Fitted f;
  read_each(map, "products", f, read_product);
  read_each(map, "attentions", f, read_attention);
  read_each(map, "rates", f, read_fitted_rate);
  read_measured(map, f);
  map.finish();
  return f;
}

std::string to_text(const Fitted& f) {
  std::string text = "  fitted:\n";
  if (!f.products.empty()) text += "    products:\n";
  for (const auto& [key, p] : f.products) text += model_text(key, p.provenance, p.model, kProductParameters) + grid_text(p.correction);
  if (!f.attentions.empty()) text += "    attentions:\n";
  for (const auto& [key, a] : f.attentions) text += model_text(key, a.provenance, a.model, kAttentionParameters);
  if (!f.rates.empty()) text += "    rates:\n";
  for (const auto& [kind, r] : f.rates) text += rate_text(kind, r);
  if (!f.table.empty()) text += "    table:\n";
  for (const MeasuredKernel& m : f.table) {
    const pcg::Kernel& k = m.kernel;
    text += fmt::format("      - \"{} {} {} {} {} {} {} {} {}\"\n", pcg::to_text(k.kind), pcg::to_text(m.precision), k.batch, k.m, k.n, k.k,
                        k.flops.value(), k.bytes.value(), m.seconds);
  }
  return text;
}

}  // namespace profiles
