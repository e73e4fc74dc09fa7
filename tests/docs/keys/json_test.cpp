// The JSON of a run: every key that is written has its row in docs/formats, of the type that the row says, and every row is written.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/yaml/parse.hpp"
#include "reports/answer.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/question/scenario.hpp"
#include "tests/docs/file_text.hpp"
#include "tests/docs/keys/key_tables.hpp"

namespace {

using Json = nlohmann::json;

scenarios::ScenarioResult answer_to(const std::string& text) {
  return scenarios::run_scenario(scenarios::load_scenario(base::parse_yaml(text, "scenario"), "."), {});
}

// Answers of every kind: found by rule and by search, fitting, tight, not fitting and not to be made; of rewritten plans, and of plans for
// which there is no data parallelism or no model. What no small search finds is put in by hand.
std::vector<scenarios::ScenarioResult> answers() {
  scenarios::ScenarioResult plain = answer_to(R"(
foreshard: 1
model: {transformer: {layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence_length: 512}}
cluster: {preset: dgx-a100-80gb, nodes: 1}
training: {global_batch: 64, precision: bf16}
plans: [data-parallel, {megatron: {tensor: 3}}, {megatron: {tensor: 2, pipeline: 2}}, {megatron: search}]
sensitivity: true
what_if: [{name: network, sweep: {cluster.links.nvlink.bandwidth: [2x]}}, {name: small, set: {cluster.node.gpus.memory: 3 GiB}}, {name: tiny, set: {cluster.node.gpus.memory: 100 MB}}]
)");
  scenarios::ScenarioResult changed = plain;
  for (scenarios::Run& r : changed.runs) {
    if (r.simulation) r.simulation->memory.capacity = r.simulation->memory.peak * 1.001;
    if (r.made) {
      pcg::Plan plan = *r.made.value();
      plan.rewrites = {{"a1", "head", base::Seconds(2), base::Seconds(1)}};
      plan.model = base::parse_yaml("{builtin: none}", "model");
      r.made = std::make_shared<const pcg::Plan>(std::move(plan));
    }
    if (r.planning && r.planning->searched) r.planning->bound = base::Seconds(0.001);
  }
  scenarios::ScenarioResult few_samples = answer_to(R"(
foreshard: 1
model: {builtin: mlp}
cluster: {preset: dgx-a100-80gb, nodes: 1}
training: {global_batch: 4}
plans: [{megatron: {tensor: 8}}]
)");
  return {plain, changed, few_samples};
}

std::string below(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

struct Found {
  std::set<std::string> keys;                        // paths of all keys, "[]" for every item of a list
  std::vector<std::pair<std::string, Json>> values;  // of every key
};

// Maps by the names of collectives, links and kinds of operators have no keys of the format's.
bool is_by_name(const std::string& path) {
  return std::ranges::any_of(std::vector<std::string>{"by_collective", "by_link", "gone", "settings"},
                             [&](const std::string& end) { return path.ends_with(end); });
}

void collect(const Json& j, const std::string& path, Found& found) {
  if (j.is_object() && !is_by_name(path))
    for (const auto& [key, value] : j.items()) {
      found.keys.insert(below(path, key));
      found.values.emplace_back(below(path, key), value);
      collect(value, below(path, key), found);
    }
  if (j.is_array())
    for (const Json& item : j) collect(item, path + "[]", found);
}

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "text") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (const std::size_t nullable = type.find(" or null"); nullable != std::string::npos)
    return value.is_null() || is_of_type(value, type.substr(0, nullable));
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number() || value.is_null();  // as the row of the iteration time says
  if (type == "[low, high]") return (value.is_array() && value.size() == 2) || value.is_null();
  if (type.starts_with("list")) return value.is_array();
  if (type == "map" || type.starts_with("`{")) return value.is_object();
  const std::vector<std::string> words = test::code_words(type);
  return words.empty() || (value.is_string() && std::ranges::find(words, value.get<std::string>()) != words.end());
}

struct Documented {
  std::string path;
  test::KeyRow row;
};

// The rows of the tables of a section, their keys below `place`.
std::vector<Documented> rows_of(const std::string& table, const std::string& place) {
  std::vector<Documented> all;
  for (const test::KeyTable& t : test::tables_of(test::formats_text()))
    if (t.name == table)
      for (const test::KeyRow& row : t.rows)
        for (const std::string& key : row.keys) all.push_back({below(place, key), row});
  return all;
}

std::vector<Documented> documented() {
  std::vector<Documented> all;
  for (const test::KeyTable& t : test::tables_of(test::formats_text())) {
    const bool explanations = t.name.starts_with("Explanations:");
    if (!explanations && !t.name.starts_with("JSON result")) continue;
    for (const test::KeyRow& row : t.rows)
      for (const std::string& key : row.keys) all.push_back({explanations ? "against_data_parallel." + key : key, row});
  }
  return all;
}

// A word of a row: in backticks, or among the keys in braces.
bool row_names(const test::KeyRow& row, const std::string& key) {
  return std::regex_search(row.text, std::regex("[`{ ]" + key + "[`},:]"));
}

// Whether a row describes a key below its own: by name, or by the name of another row that does.
bool describes_below(const std::vector<Documented>& rows, const test::KeyRow& row, const std::string& key) {
  const std::vector<std::string> words = test::code_words(row.text);
  return row_names(row, key) || std::ranges::any_of(rows, [&](const Documented& other) {
           return std::ranges::find(words, other.path) != words.end() && row_names(other.row, key);
         });
}

bool has_json_row(const std::vector<Documented>& rows, const std::string& path) {
  const std::string key = path.substr(path.find_last_of('.') + 1);
  return std::ranges::any_of(rows, [&](const Documented& d) {
    if (d.path == path || d.path.starts_with(path + ".")) return true;
    return (path.starts_with(d.path + ".") || path.starts_with(d.path + "[]")) && describes_below(rows, d.row, key);
  });
}

void check_rows(const std::vector<Documented>& rows, const Found& found) {
  for (const std::string& key : found.keys) CHECK_MESSAGE(has_json_row(rows, key), key);
  for (const Documented& d : rows) {
    CHECK_MESSAGE(found.keys.contains(d.path), "no answer has ", d.path);
    for (const auto& [path, value] : found.values)
      if (path == d.path) CHECK_MESSAGE(is_of_type(value, d.row.type), path, " is ", value.dump(), ", not ", d.row.type);
  }
}

}  // namespace

TEST_CASE("every key of the JSON of a run has its row, of its type, and every row is written") {
  const std::vector<Documented> rows = documented();
  Found found;
  std::set<std::string> statuses;
  for (const scenarios::ScenarioResult& result : answers()) {
    const Json document = Json::parse(reports::json(result, reports::Explained::yes));
    for (const Json& run : document.at("runs")) {
      collect(run, "", found);
      statuses.insert(run.at("status").get<std::string>());
    }
  }
  CHECK(statuses == std::set<std::string>{"ok", "out_of_memory", "infeasible"});
  check_rows(rows, found);
}

TEST_CASE("every key of a sensitivity has its row, of its type, and every row is written") {
  std::vector<Documented> rows;
  for (const test::KeyTable& t : test::tables_of(test::formats_text()))
    if (t.name.starts_with("Sensitivities"))
      for (const test::KeyRow& row : t.rows)
        for (const std::string& key : row.keys) rows.push_back({key, row});
  REQUIRE_FALSE(rows.empty());
  Found found;
  for (const scenarios::ScenarioResult& result : answers()) {
    const Json document = Json::parse(reports::json(result, reports::Explained::no));
    for (const Json& s : document.value("sensitivity", Json::array())) collect(s, "", found);
  }
  check_rows(rows, found);
}

TEST_CASE("every key of the JSON of capacity planning has its row, of its type, and every row is written") {
  const std::string text = R"(
foreshard: 1
model: {builtin: gpt3-125m}
cluster: {preset: dgx-a100-80gb, nodes: 1}
training: {global_batch: 64, precision: bf16}
plans: [data-parallel]
capacity:
  train: {tokens: 1e9}
  deadline: 1 h
  budget: 1 kUSD
  candidates: [{cluster: {preset: dgx-h100}, nodes: [1, 2], price: 2 USD/gpu/h, power: 10 kW/node}, {cluster: {preset: dgx-a100-80gb}, nodes: 2}]
  plans: [data-parallel, {megatron: {tensor: 3}}]
)";
  std::vector<Documented> rows = rows_of("Capacity result", "capacity[]");
  std::ranges::move(rows_of("Capacity result: `capacity_summary`:", "capacity_summary"), std::back_inserter(rows));
  Found found;
  for (const char* more : {"", "  reliability: {checkpoint: {bandwidth: 1 GB/s}}\n"}) {
    const Json document = Json::parse(reports::json(answer_to(text + more)));
    for (const char* part : {"capacity", "capacity_summary"}) {
      found.values.emplace_back(part, document.at(part));
      collect(document.at(part), part, found);
    }
  }
  for (const std::string& key : found.keys) CHECK_MESSAGE(has_json_row(rows, key), key);
  for (const Documented& d : rows) {
    CHECK_MESSAGE(found.keys.contains(d.path), "no answer has ", d.path);
    for (const auto& [path, value] : found.values)
      if (path == d.path) CHECK_MESSAGE(is_of_type(value, d.row.type), path, " is ", value.dump(), ", not ", d.row.type);
  }
}

TEST_CASE("the row of the status has every word for it, and the text on the CSV every column") {
  const std::vector<Documented> rows = documented();
  const auto status = std::ranges::find(rows, std::string("status"), &Documented::path);
  REQUIRE(status != rows.end());
  std::vector<std::string> words;
  for (const auto s : {scenarios::Status::ok, scenarios::Status::out_of_memory, scenarios::Status::infeasible,
                       scenarios::Status::time_limit, scenarios::Status::lost, scenarios::Status::crashed})
    words.emplace_back(scenarios::to_text(s));
  CHECK(test::code_words(status->row.type) == words);

  const std::string text = test::formats_text(), header = reports::csv({});
  const std::string opening = "CSV (`--csv`)";
  const std::size_t at = text.find(opening);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + opening.size();
  const std::vector<std::string> said = test::code_words(text.substr(from, text.find("\n\n", from) - from));
  std::vector<std::string> columns;
  static const std::regex column("[^,\n]+");
  for (std::sregex_iterator it(header.begin(), header.end(), column), end; it != end; ++it) columns.push_back(it->str());
  CHECK(said == columns);
}
