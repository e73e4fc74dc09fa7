#include "tests/docs/schema/schema.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string_view>

#include "base/check.hpp"
#include "search/planners.hpp"
#include "tests/docs/file_text.hpp"
#include "tests/docs/schema/key_tables.hpp"

namespace test {
namespace {

using Json = nlohmann::ordered_json;

// A table of keys, and where its map is in the document.
struct Place {
  const char* table;
  const char* path;
  bool closed;    // no other key may be there
  bool scalable;  // numbers may be "2x" or "-10%": keys beside a preset
};

struct Kind {
  const char* name;
  const char* about;
  std::vector<Place> places;
  std::vector<const char*> required;
};

const std::vector<Place> kModelPlaces = {{"Model: Beside a source these override its numbers:", "model", false, false},
                                         {"Model: Low-rank adapters (LoRA), beside any source:", "model", false, false},
                                         {"Transformer: The map of `transformer`:", "model.transformer", true, false},
                                         {"ONNX", "model", false, false}};
const std::vector<Place> kClusterPlaces = {{"Cluster", "cluster", false, true}, {"Networks", "cluster.network", false, true}};

std::vector<Place> joined(std::vector<Place> a, const std::vector<Place>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<Kind> kSchemaKinds = {
    {"scenario",
     "A question to Foreshard",
     joined({{"Scenario", "", true, false},
             {"Training", "training", true, false},
             {"What-ifs", "what_if[]", true, false},
             {"Capacity", "capacity", true, false}},
            joined(kModelPlaces, kClusterPlaces)),
     {"foreshard", "model", "training"}},
    {"cluster", "A cluster", kClusterPlaces, {"foreshard", "cluster"}},
    {"model", "A model", kModelPlaces, {"foreshard", "model"}},
    {"plan",
     "A saved plan",
     {{"Plan file", "plan", false, false}, {"Plan file: An operator, computing or parallel:", "plan.operators[]", false, false}},
     {"foreshard", "plan"}},
    {"rules",
     "A file of substitutions",
     {{"Rule file", "", true, false}, {"Rule file: Each rule:", "rules[]", false, false}},
     {"foreshard", "rules"}},
    {"device", "The profile of a GPU", {{"Device profile", "device", false, false}}, {"foreshard", "device"}},
    {"framework", "The profile of a framework", {{"Framework profile", "framework", false, false}}, {"foreshard", "framework"}},
    {"network", "The profile of a network", {{"Network profile", "network", false, false}}, {"foreshard", "network"}}};

// The schema of a key below an object's, which is made where it is not there. A segment may end in [] (of each item) or be * (of any key).
Json& below(Json& root, std::string_view path) {
  Json* at = &root;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    std::string key(path.substr(0, dot));
    path.remove_prefix(std::min(path.size(), dot + 1));
    const bool each = key.ends_with("[]");
    if (each) key.resize(key.size() - 2);
    if (!at->contains("anyOf")) (*at)["type"] = "object";
    // Names in capitals stand for any.
    const bool any = key == "*" || (!key.empty() && std::ranges::all_of(key, [](char c) { return c >= 'A' && c <= 'Z'; }));
    at = any ? &(*at)["additionalProperties"] : &(*at)["properties"][key];
    if (!each) continue;
    (*at)["type"] = "array";
    at = &(*at)["items"];
  }
  return *at;
}

std::optional<Json> numbers(const std::string& type) {
  static const std::regex pattern("(integer|number)?(?: ?≥ (-?[0-9.]+)| ?(-?[0-9.]+) to ([0-9.]+))?");
  std::smatch m;
  if (type.empty() || !std::regex_match(type, m, pattern)) return std::nullopt;
  const auto number = [](const std::string& text) {
    return text.find('.') == std::string::npos ? Json(std::stoll(text)) : Json(std::stod(text));
  };
  Json j{{"type", m[1] == "integer" ? "integer" : "number"}};
  if (m[2].matched || m[3].matched) j["minimum"] = number(m[2].matched ? m[2].str() : m[3].str());
  if (m[4].matched) j["maximum"] = number(m[4].str());
  return j;
}

// The schema that a cell of types says; empty: anything.
Json schema_of(const std::string& type) {
  static const std::regex words("(`[A-Za-z0-9_.-]+` ?)+"), quantity("(time|bytes|size|bandwidth|FLOP rate|money|price|power)( .*|:.*)?");
  if (const std::size_t other = type.find(", or "); other != std::string::npos) {
    const Json first = schema_of(type.substr(0, other)), second = schema_of(type.substr(other + 5));
    return first.empty() || second.empty() ? Json::object() : Json{{"anyOf", {first, second}}};
  }
  if (type == "boolean" || type.starts_with("boolean")) return {{"type", "boolean"}};
  if (type == "text" || type == "path") return {{"type", "string"}};
  if (type == "amount ≥ 1")
    return {{"anyOf", {{{"type", "integer"}, {"minimum", 1}}, {{"type", "string"}, {"pattern", "^[0-9.]+(e[0-9]+)?[MBGT]?$"}}}}};
  if (type.starts_with("map")) return {{"type", "object"}};
  if (type.starts_with("list")) return {{"type", "array"}};
  if (std::regex_match(type, quantity)) return {{"type", "string"}, {"pattern", "^[-+0-9.eE]+ *[A-Za-z\\u00b5]"}};
  if (auto range = numbers(type)) return *range;
  if (type.find_first_not_of("0123456789") == std::string::npos && !type.empty()) return {{"const", std::stoll(type)}};
  if (std::regex_match(type, words)) return {{"enum", code_words(type)}};
  return Json::object();
}

// Links and marks of code are for pages.
std::string without_marks(const std::string& cell) {
  static const std::regex link("\\[([^\\]]*)\\]\\([^)]*\\)");
  std::string text = std::regex_replace(cell, link, "$1");
  std::erase(text, '`');
  return text;
}

void describe(Json& at, const Json& type, const KeyRow& row, bool scalable) {
  const bool has_keys = at.contains("properties") || at.contains("items") || at.contains("additionalProperties");
  if (!has_keys) {
    const bool is_number = type.contains("type") && (type["type"] == "integer" || type["type"] == "number" || type.contains("pattern"));
    if (scalable && is_number) at["anyOf"] = {type, {{"type", "string"}, {"pattern", "^([0-9.]+x|[-+][0-9.]+%)$"}}};
    else at.update(type);
  }
  std::string text = without_marks(row.means);
  if (!row.by_default.empty() && !row.by_default.starts_with("required") && row.by_default != "none")
    text += fmt::format("{}default: {}", text.empty() ? "" : "; ", without_marks(row.by_default));
  if (!text.empty()) at["description"] = text;
}

const std::vector<KeyTable>& tables() {
  static const std::vector<KeyTable> all = tables_of(formats_text());
  return all;
}

void add(Json& root, const Place& place) {
  const auto table = std::ranges::find(tables(), std::string(place.table), &KeyTable::name);
  BASE_CHECK(table != tables().end(), "docs/formats has no table \"{}\"", place.table);
  Json& map = below(root, place.path);
  map["type"] = "object";
  // Short paths first, so that a key is there before those below it.
  for (const KeyRow& row : table->rows)
    for (const std::string& key : row.keys) describe(below(map, key), schema_of(row.type), row, place.scalable);
  if (place.closed) map["additionalProperties"] = false;
}

struct OptionSchema {
  Json operator()(const search::WholeNumber& n) const {
    Json j{{"type", "integer"}, {"minimum", n.least}};
    if (n.most < (std::int64_t{1} << 53)) j["maximum"] = n.most;
    return j;
  }
  Json operator()(const search::RealNumber& n) const { return {{"type", "number"}, {"minimum", n.least}}; }
  Json operator()(const search::Flag&) const { return {{"type", "boolean"}}; }
  Json operator()(const search::Choice& c) const { return {{"enum", c.words}}; }
  Json operator()(const search::Duration&) const { return schema_of("time"); }
  Json operator()(const search::WholeNumbers& n) const {
    Json list{{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", n.least}}}};
    return n.words.empty() ? list : Json{{"anyOf", {list, {{"enum", n.words}}}}};
  }
  Json operator()(const search::Flags& f) const {
    Json j{{"type", "object"}, {"additionalProperties", false}};
    for (const std::string& word : f.words) j["properties"][word] = {{"type", "boolean"}};
    return j;
  }
  Json operator()(const search::ChoiceOrParts& c) const { return {{"anyOf", {{{"enum", c.words}}, {{"type", "object"}}}}}; }
  Json operator()(const search::AllowedValues& a) const {
    const Json one = a.words.empty() ? Json{{"type", "integer"}, {"minimum", a.least}} : Json{{"enum", a.words}};
    return {{"anyOf", {one, {{"type", "array"}, {"items", one}}}}};
  }
  Json operator()(const search::RulesOfFile&) const { return {{"type", "string"}}; }
};

// An entry of `plans:`: a word, or a map with one kind, and a name and a framework if wanted.
Json plan_entry() {
  std::vector<std::string> words;
  Json properties{
      {"name", {{"type", "string"}}}, {"framework", Json::object()}, {"file", {{"type", "string"}, {"description", "a saved plan"}}}};
  for (const search::Planner& p : search::planners()) {
    if (p.needs.empty() && p.form.empty()) words.push_back(p.kind);
    Json& kind = properties[p.kind];
    if (kind.is_null()) kind = {{"type", {"object", "string", "null"}}, {"description", p.about}, {"additionalProperties", false}};
    if (!p.form.empty()) kind["properties"][p.form] = {{"type", "boolean"}};
    for (const search::Option& o : p.options) {
      Json option = std::visit(OptionSchema{}, o.type);
      option["description"] = fmt::format("{}; default: {}", without_marks(o.help), without_marks(search::default_text(o)));
      Json& known = kind["properties"][o.key];  // by another form of the same kind
      known = known.is_null() ? std::move(option) : Json{{"anyOf", {std::move(known), std::move(option)}}};
    }
  }
  return {{"anyOf", {{{"enum", words}}, {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}}}}};
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> names;
  for (const Kind& k : kSchemaKinds) names.emplace_back(k.name);
  return names;
}

std::string schema_json(const std::string& name) {
  const Kind& kind = *std::ranges::find(kSchemaKinds, name, [](const Kind& k) { return std::string(k.name); });
  Json j{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", kind.about}, {"type", "object"}};
  j["properties"]["foreshard"] = {{"const", 1}};
  for (const Place& p : kind.places) add(j, p);
  if (name == "scenario") {
    j["properties"]["plans"]["items"] = plan_entry();
    j["properties"]["capacity"]["properties"]["plans"]["items"] = plan_entry();
  }
  if (j["properties"].contains("model")) {
    Json& model = j["properties"]["model"];
    for (const char* source : {"builtin", "huggingface", "onnx"}) model["properties"][source]["type"] = "string";
    model["properties"]["graph"]["type"] = {"string", "object"};
    model["additionalProperties"] = false;
  }
  j["required"] = kind.required;
  return j.dump(1) + "\n";
}

}  // namespace test
