// Tables of docs/formats that are no maps of keys: columns of CSV, faults, operators, and paths of what-ifs.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "pcg/operators/operator.hpp"
#include "profiles/measured/measurements.hpp"
#include "profiles/measured/points.hpp"
#include "scenarios/question/scenario.hpp"
#include "tests/docs/file_text.hpp"
#include "tests/docs/keys/key_tables.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace {

std::vector<test::KeyTable> tables_named(const std::string& name) {
  std::vector<test::KeyTable> found;
  for (test::KeyTable& t : test::tables_of(test::formats_text()))
    if (t.name == name) found.push_back(std::move(t));
  return found;
}

std::vector<std::string> columns_of(const test::KeyTable& table) {
  std::vector<std::string> columns;
  for (const test::KeyRow& row : table.rows) columns.insert(columns.end(), row.keys.begin(), row.keys.end());
  return columns;
}

template <class Read>
std::vector<base::Diagnostic> refusals(Read read) {
  try {
    read();
  } catch (const base::InputError& e) { return e.diagnostics(); }
  return {};
}

// The words behind "one of:" where a reader meets a key that it does not know, for every map that it meets one in.
std::set<std::string> known_keys(const std::vector<base::Diagnostic>& diagnostics) {
  std::set<std::string> known;
  static const std::regex word("[^, ]+");
  for (const base::Diagnostic& d : diagnostics) {
    const std::string hint = d.hint.starts_with("one of:") ? d.hint.substr(7) : "";
    for (std::sregex_iterator it(hint.begin(), hint.end(), word), end; it != end; ++it) known.insert(it->str());
  }
  return known;
}

// A cell for every column of the table of points, a model of its own shape.
std::string cell_of(const std::string& column) {
  static const std::map<std::string, std::string> cells = {{"id", "a"},           {"group", "g"},         {"cluster", "dgx-a100-80gb"},
                                                           {"model", ""},         {"attention", "flash"}, {"recompute", "none"},
                                                           {"sharding", "none"},  {"precision", "bf16"},  {"framework", "generic"},
                                                           {"optimizer", "adam"}, {"source", "here"},     {"fp8_recipe", ""},
                                                           {"settings", ""}};
  const auto at = cells.find(column);
  return at == cells.end() ? "1" : at->second;
}
std::vector<base::Diagnostic> refusals_of_points(const std::vector<std::string>& columns, const std::string& wrong = "") {
  std::vector<std::string> cells;
  for (const std::string& c : columns) cells.push_back(c == wrong ? "@" : cell_of(c));
  return refusals([&] { (void)measured::read_points(fmt::format("{}\n{}\n", fmt::join(columns, ","), fmt::join(cells, ",")), "points"); });
}
bool tells_of(const std::vector<base::Diagnostic>& diagnostics, const std::string& column) {
  return std::ranges::any_of(diagnostics, [&](const base::Diagnostic& d) { return d.path == column; });
}

}  // namespace

TEST_CASE("points have the columns of their table, those that are required are missed, and numbers and words are held to it") {
  const test::KeyTable table = tables_named("Points").at(0);
  const std::vector<std::string> columns = columns_of(table);
  for (const base::Diagnostic& d : refusals_of_points(columns)) CHECK_MESSAGE(false, d.path, ": ", d.message);
  const std::set<std::string> texts = {"id", "group", "source"};
  for (const test::KeyRow& row : table.rows)
    for (const std::string& column : row.keys) {
      std::vector<std::string> others = columns;
      std::erase(others, column);
      std::erase(others, std::string("model"));
      CHECK_MESSAGE(tells_of(refusals_of_points(others), column) == (row.by_default.starts_with("required")), column);
      if (!texts.contains(column) && column != "model") CHECK_MESSAGE(tells_of(refusals_of_points(columns, column), column), column);
    }
  std::vector<std::string> more = columns;
  more.emplace_back("@@@@@@@@@@@@@@@@@@@@@@@@");
  const std::set<std::string> known = known_keys(refusals_of_points(more));
  CHECK(known == std::set<std::string>(columns.begin(), columns.end()));
}

TEST_CASE("measured kernels and collectives have the columns of their tables, in their order") {
  const std::vector<test::KeyTable> tables = tables_named("Measurements");
  REQUIRE(tables.size() == 2);
  const auto read = [](const test::KeyTable& table, const std::string& row) {
    return measured::read_measurements(fmt::format("{}\n{}\n", fmt::join(columns_of(table), ","), row), "table");
  };
  CHECK(read(tables[0], "a100-sxm-80gb,bf16,matmul,1,512,512,512,,,0.0001").kernels.size() == 1);
  CHECK(read(tables[1], "dgx-a100-80gb,1,8,all_reduce,1000000,0.0001").collectives.size() == 1);
}

TEST_CASE("faults have the keys of their table") {
  std::set<std::string> documented;
  static const std::regex key("([a-z]+)");
  const test::KeyTable table = tables_named("Faults").at(0);
  for (const test::KeyRow& row : table.rows) {
    const std::string entry = std::regex_replace(row.keys.at(0), std::regex("\\[[^\\]]*\\]"), "");
    for (std::sregex_iterator it(entry.begin(), entry.end(), key), end; it != end; ++it) documented.insert(it->str());
  }
  const base::Yaml cluster = base::parse_yaml("{preset: dgx-a100-80gb, faults: [{'@@@@@@@@@@@@@@@@@@@@@@@@': 1}]}", "cluster");
  CHECK(known_keys(refusals([&] { (void)topology::load_cluster(topology::expand_cluster(cluster, "cluster"), "cluster"); })) == documented);
}

TEST_CASE("every key of an operator stands in its row, and every word of the row is one or a value of one") {
  const std::set<std::string> of_every_node = {"name", "op", "inputs"};
  const test::KeyTable table = tables_named("Operators").at(0);
  for (const test::KeyRow& row : table.rows) {
    const std::size_t from = row.text.find('|', 1) + 1;
    const std::string keys = row.text.substr(from, row.text.find(" |", from) - from);
    const std::vector<std::string> words = test::code_words(keys);
    std::set<std::string> known;
    const auto refusals_of = [&](const std::string& op, const std::string& more) {
      const std::string text =
          fmt::format("{{foreshard: 1, graph: {{name: g, blocks: [{{name: b, nodes: [{{name: n, op: {}, {}}}]}}]}}}}", op, more);
      return refusals([&] { (void)pcg::models::read_graph(base::parse_yaml(text, "graph"), ""); });
    };
    for (const std::string& op : row.keys)
      for (const char* more : {"'@@@@@@@@@@@@@@@@@@@@@@@@': 1", "parts: [{'@@@@@@@@@@@@@@@@@@@@@@@@': 1}]"})
        known.merge(known_keys(refusals_of(op, more)));
    for (const std::string& key : known)
      if (!of_every_node.contains(key)) CHECK_MESSAGE(std::ranges::find(words, key) != words.end(), row.keys[0], ": no word of ", key);
    for (const std::string& word : words) {
      const bool is_value = std::ranges::any_of(known, [&](const std::string& key) {
        return std::ranges::none_of(refusals_of(row.keys[0], key + ": " + word),
                                    [&](const base::Diagnostic& d) { return d.path.ends_with("." + key); });
      });
      CHECK_MESSAGE((known.contains(word) || is_value || word == "[h, w]"), row.keys[0], ": ", word);
    }
  }
}

namespace {

// Paths of all values that a section of a scenario says, as a what-if names them.
void collect_paths(const base::Yaml& y, const std::string& path, std::vector<std::pair<std::string, base::Yaml>>& paths) {
  if (y.is_scalar()) paths.emplace_back(path, y);
  for (const base::Yaml::Entry& e : y.entries) collect_paths(e.value, path + "." + e.key, paths);
  for (std::size_t i = 0; i < y.items.size(); ++i) collect_paths(y.items[i], fmt::format("{}[{}]", path, i), paths);
}

}  // namespace

TEST_CASE("a what-if may name every value of the three sections, with brackets where it is an item, and sets it as written") {
  const std::string base = R"(
foreshard: 1
model: {transformer: {layers: 2, hidden: 64, heads: 4, vocab: 100, sequence_length: 16, dropout: 0.1}}
cluster:
  nodes: 2
  links: {pcie: {bandwidth: 16 GB/s, latency: 1 us}, ib: {bandwidth: 12.5 GB/s, latency: 2 us}}
  node:
    gpus: {type: a100-sxm-80gb, count: 2}
    components: [cpu0, nic0]
    wires: [{between: ["gpu[0-1]", cpu0], link: pcie}, {between: [nic0, cpu0], link: pcie, count: 1}]
  network: {type: torus, link: ib, dimensions: [2]}
  faults: [{node: 0, slowdown: 1.5}]
training: {global_batch: 8, precision: bf16, fp32_gradients: true, framework: {name: generic, host.iteration: 1 ms}}
plans: [data-parallel]
)";
  const base::Yaml document = base::parse_yaml(base, "scenario");
  std::vector<std::pair<std::string, base::Yaml>> paths;
  for (const char* section : {"model", "cluster", "training"}) collect_paths(*document.find(section), section, paths);
  CHECK(paths.size() > 30);
  for (const auto& [path, value] : paths) {
    if (path == "training.framework.host.iteration") continue;  // a dotted key, which a what-if reaches as below
    base::Yaml changed = document, set = base::Yaml::make_map(), what_if = base::Yaml::make_map(), list = base::Yaml::make_sequence();
    set.set(path, value);
    what_if.set("name", base::Yaml::make_scalar("same"));
    what_if.set("set", set);
    list.items.push_back(what_if);
    changed.set("what_if", list);
    for (const base::Diagnostic& d :
         refusals([&] { (void)scenarios::load_scenario(base::parse_yaml(base::emit_yaml(changed), "s"), "."); }))
      CHECK_MESSAGE(false, path, ": ", d.message);
  }
  const std::string examples = base + R"(
what_if:
  - {name: a, set: {"cluster.node.wires[1].link": ib, "cluster.faults[0].slowdown": 2}}
  - {name: b, set: {training.framework.host.iteration: 2 ms, training.fp32_gradients: false}}
  - {name: c, set: {cluster: {preset: dgx-a100-80gb, nodes: 1}, model: {builtin: mlp}}}
  - {name: d, set: {cluster.network.dimensions: [1, 2], cluster.nodes: 1x}}
)";
  CHECK(scenarios::load_scenario(base::parse_yaml(examples, "s"), ".").variants.size() == 5);
  // A preset's name, whatever stands beside it, and where the cluster has none.
  for (const char* cluster :
       {"{preset: dgx-a100-80gb, nodes: 2}", "{preset: dgx-a100-80gb, nodes: 2, links.infiniband.bandwidth: 20 GB/s}"}) {
    const std::string other_machine = fmt::format(
        "foreshard: 1\nmodel: {{builtin: mlp}}\ncluster: {}\ntraining: {{global_batch: 8}}\nplans: [data-parallel]\n"
        "what_if: [{{name: h, set: {{cluster.preset: dgx-h100}}}}]\n",
        cluster);
    const scenarios::Scenario s = scenarios::load_scenario(base::parse_yaml(other_machine, "s"), ".");
    CHECK(s.variants.load(1).cluster->devices().front().type == "h100-sxm-80gb");
    CHECK(s.variants.load(1).cluster->device_count() == 16);
  }
  const std::string of_no_preset = base + "what_if: [{name: h, set: {cluster.preset: dgx-h100}}]\n";
  CHECK(scenarios::load_scenario(base::parse_yaml(of_no_preset, "s"), ".").variants.load(1).cluster->device_count() == 16);
}
