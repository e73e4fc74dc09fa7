// The schemas of our files: those that are committed are those that the program prints, and files that ship have no key that they lack.
#include "reports/schema/schema.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/yaml/parse.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Keys of a file that a schema with a list of keys does not have, wherever it is closed.
void collect_unknown(const base::Yaml& y, const Json& schema, const std::string& path, std::string& unknown) {
  if (y.is_sequence() && schema.contains("items"))
    for (const base::Yaml& item : y.items) collect_unknown(item, schema["items"], path + "[]", unknown);
  if (!y.is_map() || !schema.contains("properties")) return;
  for (const base::Yaml::Entry& e : y.entries) {
    const auto at = schema["properties"].find(e.key);
    if (at != schema["properties"].end()) collect_unknown(e.value, *at, path + "." + e.key, unknown);
    else if (schema.value("additionalProperties", Json(true)) == false) unknown += path + "." + e.key + "\n";
  }
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("committed schemas are those that the program prints; make docs renews them") {
  for (const std::string& kind : reports::schema_kinds())
    CHECK_MESSAGE(text_of(fs::path(SOURCE_DIRECTORY) / "docs/schemas" / (kind + ".schema.json")) == reports::schema_json(kind), kind);
}

TEST_CASE("files that ship have no key that their schema lacks") {
  const std::pair<const char*, const char*> folders[] = {{"scenario", "scenarios"},
                                                         {"cluster", "topology/presets"},
                                                         {"device", "profiles/devices"},
                                                         {"framework", "profiles/frameworks"},
                                                         {"network", "profiles/networks"}};
  for (const auto& [kind, folder] : folders) {
    const Json schema = Json::parse(reports::schema_json(kind));
    int files = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(SOURCE_DIRECTORY) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::string unknown;
      collect_unknown(base::read_yaml(entry.path()), schema, "", unknown);
      CHECK_MESSAGE(unknown.empty(), entry.path().string(), ": ", unknown);
      ++files;
    }
    CHECK(files >= 5);
  }
}

TEST_CASE("a schema knows types, ranges, words, units, defaults and planners' options") {
  const Json s = Json::parse(reports::schema_json("scenario"));
  const Json& training = s["properties"]["training"]["properties"];
  CHECK(training["global_batch"]["type"] == "integer");
  CHECK(training["global_batch"]["minimum"] == 1);
  CHECK(training["precision"]["enum"][3] == "bf16");
  CHECK(s["properties"]["training"]["additionalProperties"] == false);
  CHECK(s["properties"]["capacity"]["properties"]["deadline"]["type"] == "string");  // a quantity has a unit
  const Json& megatron = s["properties"]["plans"]["items"]["anyOf"][1]["properties"]["megatron"]["properties"];
  CHECK(megatron["tensor"]["anyOf"][0]["minimum"] == 1);
  CHECK(megatron["tensor"]["anyOf"][1]["anyOf"][1]["items"]["minimum"] == 1);  // or the degrees that a search may take
  CHECK(megatron["schedule"]["anyOf"][1]["anyOf"][1]["items"]["enum"][1] == "1f1b");
  CHECK(megatron["recompute"].contains("anyOf"));
  CHECK(megatron["budget"]["description"].get<std::string>().find("default: 5 s") != std::string::npos);
}
