#include "profiles/measured/points.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/csv.hpp"
#include "base/numbers.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "pcg/plan/plan.hpp"
#include "topology/load.hpp"

namespace measured {
namespace {

using base::Yaml;

constexpr std::size_t kMostProblems = 40;              // more of them add nothing
constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of a size: products of two stay within 2^80, sums far within a double
constexpr int kMostDegree = 1 << 24;                   // of GPUs: sixteen million, far beyond any cluster

const std::vector<std::string> kRequired = {"id", "group", "cluster",     "nodes",        "n_gpus",    "seq",       "tp",
                                            "pp", "dp",    "micro_batch", "global_batch", "precision", "measured_s"};
// Required too, unless `model` names a builtin.
const std::vector<std::string> kShape = {"layers", "hidden", "heads", "ffn", "vocab", "attention"};
const std::vector<std::string> kOptional = {"chunks",
                                            "recompute",
                                            "sequence_parallel",
                                            "sharding",
                                            "framework",
                                            "optimizer",
                                            "kv_heads",
                                            "head_dim",
                                            "gated",
                                            "rms_norm",
                                            "rope",
                                            "biases",
                                            "causal",
                                            "experts",
                                            "top_k",
                                            "cp",
                                            "ep",
                                            "tied_embeddings",
                                            "model",
                                            "fp8_recipe",
                                            "settings",
                                            "measured_peak_bytes",
                                            "measured_reserved_bytes",
                                            "source"};

const std::vector<std::string> kShardings = {"none", "zero1", "zero2", "zero3"};
const std::vector<std::string> kAttentions = {"flash", "unfused"};
const std::vector<std::string> kFp8Recipes = {"delayed", "current", "blockwise"};
// The first words of a setting's path.
const std::vector<std::string> kSections = {"model", "cluster", "training", "plan"};

std::vector<std::string> known_columns() {
  std::vector<std::string> all = kRequired;
  all.insert(all.end(), kShape.begin(), kShape.end());
  all.insert(all.end(), kOptional.begin(), kOptional.end());
  return all;
}

void check_columns(const base::CsvTable& table, base::Diagnostics& sink) {
  const std::vector<std::string> known = known_columns();
  for (const std::string& c : table.columns)
    if (std::ranges::find(known, c) == known.end()) sink.add(table.mark, c, "a points table has no such column", base::suggest(c, known));
  for (const std::string& c : kRequired)
    if (!table.find(c)) sink.add(table.mark, c, "the column is missing");
  if (!table.find("model"))
    for (const std::string& c : kShape)
      if (!table.find(c)) sink.add(table.mark, c, "the column is missing", "or name a builtin in a column `model`");
}

// One row's cells by column; what is wrong goes to the sink, named by column.
class Row {
 public:
  Row(const base::CsvTable& table, const base::CsvRow& row, base::Diagnostics& sink) : table_(table), row_(row), sink_(sink) {}

  // The cell, "" where the column is not there.
  const std::string& text(std::string_view column) const {
    static const std::string kNothing;
    const auto at = table_.find(column);
    return at ? row_.cells[*at] : kNothing;
  }
  bool has(std::string_view column) const { return !text(column).empty(); }

  std::string required_text(std::string_view column) {
    if (!has(column)) complain(column, "the cell is empty");
    return text(column);
  }
  std::int64_t integer(std::string_view column, std::int64_t otherwise, std::int64_t most = kMost) {
    if (!has(column)) return otherwise;
    const std::string& t = text(column);
    if (const auto value = base::parse_integer(t); value && *value >= 1 && *value <= most) return *value;
    complain(column, fmt::format("\"{}\" is no integer from 1 to {}", t, most));
    return otherwise;
  }
  std::int64_t required_integer(std::string_view column, std::int64_t most = kMost) {
    if (!has(column)) complain(column, "the cell is empty");
    return integer(column, 1, most);
  }
  int degree(std::string_view column) { return static_cast<int>(integer(column, 1, kMostDegree)); }
  int required_degree(std::string_view column) { return static_cast<int>(required_integer(column, kMostDegree)); }
  double positive(std::string_view column) {
    const std::string& t = text(column);
    if (const auto value = base::parse_number(t); value && *value > 0) return *value;
    complain(column, fmt::format("\"{}\" is no number above 0", t));
    return 1;
  }
  bool flag(std::string_view column) {
    const std::string& t = text(column);
    if (!t.empty() && t != "0" && t != "1") complain(column, fmt::format("\"{}\" is neither 0 nor 1", t));
    return t == "1";
  }
  std::string choice(std::string_view column, const std::vector<std::string>& names, const std::string& otherwise) {
    return has(column) ? required_choice(column, names) : otherwise;
  }
  std::string required_choice(std::string_view column, const std::vector<std::string>& names) {
    const std::string& t = required_text(column);
    if (!t.empty() && std::ranges::find(names, t) == names.end())
      complain(column, fmt::format("unknown word \"{}\"", t), base::suggest(t, names));
    return t;
  }
  void complain(std::string_view column, std::string message, std::string hint = {}) {
    if (sink_.size() < kMostProblems) sink_.add(row_.mark, std::string(column), std::move(message), std::move(hint));
  }
  const base::Mark& mark() const { return row_.mark; }

 private:
  const base::CsvTable& table_;
  const base::CsvRow& row_;
  base::Diagnostics& sink_;
};

// The tree with one mark everywhere.
Yaml marked_as(Yaml tree, const base::Mark& mark) {
  tree.mark = mark;
  for (Yaml::Entry& e : tree.entries) {
    e.key_mark = mark;
    e.value = marked_as(std::move(e.value), mark);
  }
  for (Yaml& item : tree.items) item = marked_as(std::move(item), mark);
  return tree;
}

Yaml scalar(const Row& row, std::string text) { return Yaml::make_scalar(std::move(text), row.mark()); }

Yaml read_transformer(Row& row) {
  Yaml t = Yaml::make_map(row.mark());
  for (const char* size : {"layers", "hidden", "heads", "ffn", "vocab"})
    t.set(size, scalar(row, std::to_string(row.required_integer(size))));
  t.set("sequence_length", scalar(row, std::to_string(row.required_integer("seq"))));
  t.set("attention", scalar(row, row.required_choice("attention", kAttentions)));
  for (const char* size : {"kv_heads", "head_dim", "experts", "top_k"})
    if (row.has(size)) t.set(size, scalar(row, std::to_string(row.integer(size, 1))));
  for (const char* flag : {"causal", "gated", "rms_norm", "rope", "biases", "tied_embeddings"})
    if (row.has(flag)) t.set(flag, scalar(row, row.flag(flag) ? "true" : "false"));
  return t;
}

// The paths of a setting, and what each of them is to be. The cell is on one line of the table, whose mark its values get.
std::vector<Point::Setting> read_settings(Row& row) {
  std::vector<Point::Setting> settings;
  if (!row.has("settings")) return settings;
  try {
    const Yaml map = base::parse_yaml(row.text("settings"), row.mark().source->name);
    if (!map.is_map()) row.complain("settings", "is no map", "write e.g. {plan.zero: 1, training.clip_gradients: true}");
    for (const Yaml::Entry& e : map.entries) {
      const std::string section = e.key.substr(0, e.key.find('.'));
      if (section.size() == e.key.size() || std::ranges::find(kSections, section) == kSections.end())
        row.complain("settings", fmt::format("\"{}\" is no path into model, cluster, training or plan", e.key),
                     "write e.g. {plan.zero: 1, training.clip_gradients: true}");
      settings.push_back({e.key, marked_as(e.value, row.mark())});
    }
  } catch (const base::InputError& e) { row.complain("settings", e.diagnostics().front().message); }
  return settings;
}

Point read_point(Row row) {
  Point p;
  p.mark = row.mark();
  p.id = row.required_text("id");
  p.group = row.required_text("group");
  p.source = row.text("source");
  p.cluster = row.required_text("cluster");
  if (row.has("cluster") && topology::preset_section(p.cluster) == nullptr)
    row.complain("cluster", topology::unknown_preset(p.cluster), base::suggest(p.cluster, topology::preset_names()));
  p.nodes = row.required_degree("nodes");
  p.gpus = row.required_degree("n_gpus");
  p.model = row.text("model");
  p.transformer = p.model.empty() ? read_transformer(row) : Yaml::make_map(row.mark());
  p.tensor = row.required_degree("tp");
  p.pipeline = row.required_degree("pp");
  p.data = row.required_degree("dp");
  p.context = row.degree("cp");
  p.expert = row.degree("ep");
  p.chunks = row.degree("chunks");
  p.micro_batch = row.required_integer("micro_batch");
  p.global_batch = row.required_integer("global_batch");
  p.recompute = row.choice("recompute", pcg::names<pcg::Recompute>(), "none");
  p.sequence_parallel = row.flag("sequence_parallel");
  p.zero = static_cast<int>(std::ranges::find(kShardings, row.choice("sharding", kShardings, "none")) - kShardings.begin());
  p.precision = row.required_choice("precision", pcg::names<pcg::Precision>());
  p.fp8_recipe = row.choice("fp8_recipe", kFp8Recipes, "");
  p.optimizer = row.choice("optimizer", pcg::names<pcg::Optimizer>(), "adam");
  p.framework = row.choice("framework", pcg::names<pcg::Framework>(), "generic");
  p.settings = read_settings(row);
  if (row.has("measured_peak_bytes")) p.measured_peak = base::Bytes(row.positive("measured_peak_bytes"));
  if (row.has("measured_reserved_bytes")) p.measured_reserved = base::Bytes(row.positive("measured_reserved_bytes"));
  // A row may have memory alone.
  if (row.has("measured_s") || (!p.measured_peak && !p.measured_reserved)) p.measured = base::Seconds(row.positive("measured_s"));
  return p;
}

// Writes keys of a map with one mark.
class Map {
 public:
  explicit Map(const base::Mark& mark) : yaml_(Yaml::make_map(mark)) {}
  Map& set(std::string_view key, std::string text) { return set(key, Yaml::make_scalar(std::move(text), yaml_.mark)); }
  Map& set(std::string_view key, std::int64_t number) { return set(key, std::to_string(number)); }
  Map& set(std::string_view key, Yaml value) {
    yaml_.set(key, std::move(value), yaml_.mark);
    return *this;
  }
  Yaml take() { return std::move(yaml_); }

 private:
  Yaml yaml_;
};

Yaml model_of(const Point& p) {
  Map model(p.mark);
  if (p.model.empty()) model.set("transformer", p.transformer);
  else model.set("builtin", p.model);
  return model.take();
}

// Where fewer GPUs ran than the nodes have, the nodes are taken to have no more.
Yaml cluster_of(const Point& p) {
  Map cluster(p.mark);
  cluster.set("preset", p.cluster).set("nodes", p.nodes);
  const int whole = topology::preset_gpus(p.cluster);
  if (whole > 0 && p.gpus < p.nodes * whole && p.gpus % p.nodes == 0) cluster.set("node.gpus.count", p.gpus / p.nodes);
  return cluster.take();
}

// Sharded data parallelism alone is FSDP's; beside other degrees it is Megatron's sharded optimizer.
Yaml plan_of(const Point& p) {
  Map options(p.mark), entry(p.mark);
  const bool alone = p.tensor * p.pipeline * p.context * p.expert == 1;
  options.set("micro_batch", p.micro_batch).set("recompute", p.recompute);
  if (p.zero > 0 && alone) {
    options.set("stage", kShardings[static_cast<std::size_t>(p.zero)]);
    return entry.set("fsdp", options.take()).take();
  }
  options.set("tensor", p.tensor).set("pipeline", p.pipeline).set("data", p.data);
  if (p.context > 1) options.set("context", p.context);
  if (p.expert > 1) options.set("expert", p.expert);
  if (p.zero > 0) options.set("zero", p.zero);
  options.set("sequence_parallel", std::string(p.sequence_parallel ? "true" : "false"));
  if (p.pipeline > 1) options.set("schedule", std::string(p.chunks > 1 ? "interleaved" : "1f1b"));
  if (p.pipeline > 1 && p.chunks > 1) options.set("chunks", p.chunks);
  return entry.set("megatron", options.take()).take();
}

// A word, or a map where a setting changes the profile's keys.
Yaml framework_of(const Point& p) {
  const auto changes_it = [](const Point::Setting& s) { return s.path.starts_with("training.framework."); };
  if (std::ranges::none_of(p.settings, changes_it)) return Yaml::make_scalar(p.framework, p.mark);
  return Map(p.mark).set("name", p.framework).take();
}

// A scenario's path of a setting's: `model.` reaches into the transformer, but for keys of any model, `plan.` into the options
// of the only entry.
std::string path_in_scenario(const std::string& setting, const Yaml& scenario, const Point& p) {
  const std::size_t dot = setting.find('.');
  if (setting.starts_with("plan."))
    return fmt::format("plans[0].{}{}", scenario.find("plans")->items[0].entries[0].key, setting.substr(dot));
  if (setting.starts_with("model.") && !setting.starts_with("model.lora") && p.model.empty())
    return "model.transformer" + setting.substr(dot);
  return setting;
}

// Values of keys are checked where the scenario is read. A cluster and a framework take paths, beside what they start from.
Yaml with_settings(Yaml scenario, const Point& p) {
  static constexpr std::string_view kCluster = "cluster.", kFramework = "training.framework.";
  base::Diagnostics sink;
  for (const Point::Setting& s : p.settings)
    if (s.path.starts_with(kCluster)) scenario.find("cluster")->set(s.path.substr(kCluster.size()), s.value, p.mark);
    else if (s.path.starts_with(kFramework))
      scenario.find("training")->find("framework")->set(s.path.substr(kFramework.size()), s.value, p.mark);
    else base::patch_yaml(scenario, path_in_scenario(s.path, scenario, p), s.value, sink, s.path, base::UnknownKey::add);
  sink.throw_if_any();
  return scenario;
}

}  // namespace

bool is_points_header(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  return header.find("measured_s") != std::string_view::npos && header.find("micro_batch") != std::string_view::npos;
}

std::vector<Point> read_points(std::string text, const std::string& file) {
  const base::CsvTable table = base::parse_csv(std::move(text), file);
  base::Diagnostics sink;
  check_columns(table, sink);
  sink.throw_if_any();
  std::vector<Point> points;
  for (const base::CsvRow& row : table.rows) points.push_back(read_point(Row(table, row, sink)));
  sink.throw_if_any();
  return points;
}

Yaml scenario_of(const Point& p) {
  Map training(p.mark), scenario(p.mark);
  training.set("global_batch", p.global_batch).set("precision", p.precision);
  if (!p.fp8_recipe.empty()) training.set("fp8_recipe", p.fp8_recipe);
  training.set("optimizer", p.optimizer).set("framework", framework_of(p));
  Yaml plans = Yaml::make_sequence(p.mark);
  plans.items.push_back(plan_of(p));
  scenario.set("foreshard", 1).set("name", p.id).set("model", model_of(p)).set("cluster", cluster_of(p));
  return with_settings(scenario.set("training", training.take()).set("plans", std::move(plans)).take(), p);
}

}  // namespace measured
