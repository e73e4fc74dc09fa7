// The schemas that the program prints are those that the documents and the planners make, and files that ship have no key that they lack.
#include "tests/docs/schema/schema.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/yaml/parse.hpp"
#include "tests/docs/file_text.hpp"

namespace {

namespace fs = std::filesystem;
using Schema = nlohmann::ordered_json;

// Keys of a file that a schema with a list of keys does not have, wherever it is closed.
void collect_unknown(const base::Yaml& y, const Schema& schema, const std::string& path, std::string& unknown) {
  if (y.is_sequence() && schema.contains("items"))
    for (const base::Yaml& item : y.items) collect_unknown(item, schema["items"], path + "[]", unknown);
  if (!y.is_map() || !schema.contains("properties")) return;
  for (const base::Yaml::Entry& e : y.entries) {
    const auto at = schema["properties"].find(e.key);
    if (at != schema["properties"].end()) collect_unknown(e.value, *at, path + "." + e.key, unknown);
    else if (schema.value("additionalProperties", Schema(true)) == false) unknown += path + "." + e.key + "\n";
  }
}

// UPDATE_GOLDEN=1 stores it; the difference is reviewed.
void check_committed(const std::string& kind) {
  const fs::path file = fs::path(SOURCE_DIRECTORY) / "docs/schemas" / (kind + ".schema.json");
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(file) << test::schema_json(kind);
  CHECK_MESSAGE(test::text_of(file) == test::schema_json(kind), kind);
}

}  // namespace

TEST_CASE("committed schemas are those of the tables of docs/formats and of the planners' options") {
  for (const std::string& kind : test::schema_kinds()) check_committed(kind);
}

TEST_CASE("files that ship have no key that their schema lacks") {
  const std::pair<const char*, const char*> folders[] = {{"scenario", "scenarios"},
                                                         {"cluster", "topology/presets"},
                                                         {"device", "profiles/devices"},
                                                         {"framework", "profiles/frameworks"},
                                                         {"network", "profiles/networks"}};
  for (const auto& [kind, folder] : folders) {
    const Schema schema = Schema::parse(test::schema_json(kind));
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
  const Schema s = Schema::parse(test::schema_json("scenario"));
  const Schema& training = s["properties"]["training"]["properties"];
  CHECK(training["global_batch"]["type"] == "integer");
  CHECK(training["global_batch"]["minimum"] == 1);
  CHECK(training["precision"]["enum"][3] == "bf16");
  CHECK(s["properties"]["training"]["additionalProperties"] == false);
  CHECK(s["properties"]["capacity"]["properties"]["deadline"]["type"] == "string");  // a quantity has a unit
  const Schema& megatron = s["properties"]["plans"]["items"]["anyOf"][1]["properties"]["megatron"]["properties"];
  CHECK(megatron["tensor"]["anyOf"][0]["minimum"] == 1);
  CHECK(megatron["tensor"]["anyOf"][1]["anyOf"][1]["items"]["minimum"] == 1);  // or the degrees that a search may take
  CHECK(megatron["schedule"]["anyOf"][1]["anyOf"][1]["items"]["enum"][1] == "1f1b");
  CHECK(megatron["recompute"].contains("anyOf"));
  CHECK(megatron["budget"]["description"].get<std::string>().find("default: 5 s") != std::string::npos);
}
