// Every key of docs/formats is asked of its reader, and every key that a reader knows has its row.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "tests/docs/file_text.hpp"
#include "tests/docs/keys/key_tables.hpp"
#include "tests/docs/keys/readers.hpp"

namespace {

using base::Yaml;
using test::KeyReader;
using test::KeyRow;
using test::KeyTable;

// No letter of it is in any key, so that a reader answers with all that it knows.
constexpr const char* kUnknown = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";

// The steps of "cluster.node.wires[].link": names, "[]" for every item, "*" or CAPITALS for every name.
std::vector<std::string> steps_of(const std::string& path) {
  static const std::regex step("\\[[0-9]*\\]|[^.\\[]+");
  std::vector<std::string> steps;
  for (std::sregex_iterator it(path.begin(), path.end(), step), end; it != end; ++it) steps.push_back(it->str());
  return steps;
}
bool is_any_name(const std::string& step) {
  return step == "*" || std::ranges::all_of(step, [](unsigned char c) { return std::isupper(c) != 0; });
}
bool is_item(const std::string& step) { return step.starts_with('['); }
bool fits(const std::string& pattern, const std::string& step) {
  return pattern == step || (pattern == "[]" && is_item(step)) || (is_any_name(pattern) && !is_item(step));
}

std::string joined(const std::string& place, const std::string& key) {
  return place.empty() || key.empty() ? place + key : place + "." + key;
}

// A map or list of a document, and where it is.
struct Part {
  Yaml* node = nullptr;
  std::string path;
};

// The parts of a document that a pattern leads to.
std::vector<Part> parts_at(Yaml& document, const std::vector<std::string>& pattern) {
  std::vector<Part> found{{&document, ""}};
  for (const std::string& step : pattern) {
    std::vector<Part> next;
    for (const Part& p : found) {
      for (Yaml::Entry& e : p.node->entries)
        if (fits(step, e.key)) next.push_back({&e.value, joined(p.path, e.key)});
      for (std::size_t i = 0; i < p.node->items.size(); ++i)
        if (const std::string item = fmt::format("[{}]", i); fits(step, item)) next.push_back({&p.node->items[i], p.path + item});
    }
    found = std::move(next);
  }
  return found;
}

using Problems = std::vector<base::Diagnostic>;

Problems problems_of(const KeyReader& reader, const Yaml& document) {
  try {
    reader.load(document);
  } catch (const base::InputError& e) { return e.diagnostics(); }
  return {};
}

// What a reader knows beside the keys of a map that is there; nullopt: it takes every name.
std::optional<std::vector<std::string>> known_at(const KeyReader& reader, Yaml document, const std::vector<std::string>& steps) {
  parts_at(document, steps)[0].node->set(kUnknown, Yaml::make_scalar("1"));
  for (const base::Diagnostic& d : problems_of(reader, document)) {
    if (d.message != fmt::format("unknown key \"{}\"", kUnknown)) continue;
    std::vector<std::string> known;
    static const std::regex name("[^, ]+");
    const std::string hint = d.hint.substr(d.hint.find(':') + 1);
    for (std::sregex_iterator it(hint.begin(), hint.end(), name), end; it != end; ++it) known.push_back(it->str());
    return known;
  }
  return std::nullopt;
}

// A key of a table in one of the reader's documents: the map that has it or may have it.
struct Spot {
  std::size_t document = 0;
  std::vector<std::string> parent;  // exact steps
  std::string key, path;
};

std::vector<Spot> spots_of(const KeyReader& reader, const std::string& key) {
  std::vector<std::string> pattern = steps_of(joined(reader.place, key));
  if (pattern.back() == "[]") pattern.pop_back();
  const std::string last = pattern.back();
  pattern.pop_back();
  std::vector<Spot> spots;
  for (std::size_t i = 0; i < reader.documents.size(); ++i) {
    Yaml copy = reader.documents[i];
    for (const Part& p : parts_at(copy, pattern)) {
      if (!p.node->is_map()) continue;
      std::vector<std::string> names{last};
      if (is_any_name(last)) {
        names.clear();
        for (const Yaml::Entry& e : p.node->entries) names.push_back(e.key);
      }
      for (const std::string& name : names) spots.push_back({i, steps_of(p.path), name, joined(p.path, name)});
    }
  }
  return spots;
}

Yaml with_value(const KeyReader& reader, const Spot& spot, const std::string& value) {
  Yaml copy = reader.documents[spot.document];
  parts_at(copy, spot.parent)[0].node->set(spot.key, base::parse_yaml(value, "value"));
  return copy;
}
Yaml without(const KeyReader& reader, const Spot& spot) {
  Yaml copy = reader.documents[spot.document];
  parts_at(copy, spot.parent)[0].node->erase(spot.key);
  return copy;
}
const Yaml* present(const KeyReader& reader, const Spot& spot) {
  Yaml copy = reader.documents[spot.document];
  const Yaml* at = parts_at(copy, spot.parent)[0].node->find(spot.key);
  static Yaml found;
  return at == nullptr ? nullptr : &(found = *at);
}

// The spots where the key stands already, if there are any: elsewhere something else may be wrong with it.
std::vector<Spot> where_written(const KeyReader& reader, std::vector<Spot> spots) {
  std::vector<Spot> written;
  std::ranges::copy_if(spots, std::back_inserter(written), [&](const Spot& s) { return present(reader, s) != nullptr; });
  return written.empty() ? spots : written;
}

bool is_about(const base::Diagnostic& d, const Spot& spot) {
  return d.path.starts_with(spot.path) || d.message.find("\"" + spot.key + "\"") != std::string::npos ||
         d.message.starts_with(spot.key + " must be");
}

// The value is of a type that the key has, and within its bounds; what else may be wrong with it is not asked.
bool takes(const Problems& problems, const Spot& spot) {
  return std::ranges::none_of(problems, [&](const base::Diagnostic& d) {
    return is_about(d, spot) && (d.message.starts_with("expected") || d.message.starts_with("unknown") ||
                                 d.message.find("must be at") != std::string::npos || d.message.find("has no unit") != std::string::npos);
  });
}
bool refuses(const Problems& problems, const Spot& spot) {
  return std::ranges::any_of(problems, [&](const base::Diagnostic& d) { return is_about(d, spot); });
}

// Keys and loops of operators, with which the keys of a plan's operators share their map.
std::vector<std::string> words_of_operators(const std::vector<KeyTable>& tables) {
  std::vector<std::string> words;
  for (const KeyTable& t : tables)
    if (t.name == "Operators")
      for (const KeyRow& row : t.rows)
        for (const std::string& word : test::code_words(row.text)) words.push_back(word);
  return words;
}

struct Read {
  KeyTable table;  // the rows of all tables of the reader
  KeyReader reader;
};

// Whether a table is of a reader: by its name, or as one of several planners that its heading names.
bool is_of(const KeyTable& table, const KeyReader& reader) {
  if (table.columns[0] != "key") return false;
  const std::vector<std::string> named = test::code_words(table.name);
  return table.name == reader.table ||
         std::ranges::any_of(named, [&](const std::string& name) { return "`" + name + "`" == reader.table; });
}

std::vector<Read> read_tables() {
  std::vector<Read> read;
  const std::vector<KeyTable> tables = test::tables_of(test::formats_text());
  for (const KeyReader& reader : test::key_readers(words_of_operators(tables))) {
    Read all{.table = {.name = reader.table, .columns = {}, .rows = {}}, .reader = reader};
    for (const KeyTable& t : tables)
      if (is_of(t, reader)) std::ranges::copy(t.rows, std::back_inserter(all.table.rows));
    REQUIRE_MESSAGE(!all.table.rows.empty(), reader.table);
    read.push_back(std::move(all));
  }
  return read;
}

// Whether a text names a word, in backticks or in braces.
bool names(const std::string& text, const std::string& word) {
  return std::regex_search(
      text,
      std::regex("(^|[^A-Za-z0-9_.-])" + std::regex_replace(word, std::regex("[.*+?^${}()|\\[\\]\\\\]"), "\\$&") + "($|[^A-Za-z0-9_-])"));
}

// The row of the nearest map above a key that has one.
const KeyRow* row_above(const KeyTable& table, const std::string& place, std::vector<std::string> steps) {
  for (; !steps.empty(); steps.pop_back())
    for (const KeyRow& row : table.rows)
      for (const std::string& key : row.keys) {
        const std::vector<std::string> pattern = steps_of(joined(place, key));
        if (std::ranges::equal(pattern, steps, fits)) return &row;
      }
  return nullptr;
}

// Whether a table has a row for a key, or for one that is at least so far below it.
bool has_row(const Read& r, const std::vector<std::string>& steps, std::size_t below = 0) {
  return std::ranges::any_of(r.table.rows, [&](const KeyRow& row) {
    return std::ranges::any_of(row.keys, [&](const std::string& key) {
      const std::vector<std::string> pattern = steps_of(joined(r.reader.place, key));
      return pattern.size() >= steps.size() + below &&
             std::equal(steps.begin(), steps.end(), pattern.begin(), [](const auto& s, const auto& p) { return fits(p, s); });
    });
  });
}

void collect_maps(const Yaml& y, const std::string& path, std::vector<std::string>& maps) {
  if (y.is_map()) maps.push_back(path);
  for (const Yaml::Entry& e : y.entries) collect_maps(e.value, joined(path, e.key), maps);
  for (std::size_t i = 0; i < y.items.size(); ++i) collect_maps(y.items[i], fmt::format("{}[{}]", path, i), maps);
}

// Whether a table has a row for a key right in a map.
bool has_row_in(const Read& r, const std::vector<std::string>& map) {
  return std::ranges::any_of(r.table.rows, [&](const KeyRow& row) {
    return std::ranges::any_of(row.keys,
                               [&](const std::string& key) { return steps_of(joined(r.reader.place, key)).size() == map.size() + 1; });
  });
}

// A table describes the maps that it has rows in, and those below that no row leaves to another section.
bool describes(const Read& r, const std::vector<std::string>& steps) {
  const std::vector<std::string> place = steps_of(r.reader.place);
  if (steps.size() < place.size() || !std::equal(place.begin(), place.end(), steps.begin())) return false;
  if (has_row(r, steps, 1)) return steps.size() > place.size() || has_row_in(r, steps);
  const KeyRow* above = row_above(r.table, r.reader.place, steps);
  static const std::regex section("\\]\\((#|[a-z-]+\\.md)");  // of this page, or of another one
  return above != nullptr && !std::regex_search(above->text, section);
}

// The steps as the table may have them: its own, and those of the map that this one is like.
std::vector<std::vector<std::string>> namings(const KeyReader& reader, const std::vector<std::string>& steps) {
  std::vector<std::vector<std::string>> all{steps};
  for (const auto& [from, to] : reader.alike) {
    const std::vector<std::string> pattern = steps_of(from);
    if (steps.size() < pattern.size() || !std::equal(pattern.begin(), pattern.end(), steps.begin(), fits)) continue;
    all.push_back(steps_of(to));
    all.back().insert(all.back().end(), steps.begin() + static_cast<std::ptrdiff_t>(pattern.size()), steps.end());
  }
  return all;
}

// Whether the table has a row for a key of a map, names it in the row of the map, or leaves it to other text.
bool is_described(const Read& r, const std::vector<std::string>& map, const std::string& key) {
  if (std::ranges::find(r.reader.elsewhere, key) != r.reader.elsewhere.end()) return true;
  return std::ranges::any_of(namings(r.reader, map), [&](std::vector<std::string> steps) {
    const KeyRow* above = row_above(r.table, r.reader.place, steps);
    steps.push_back(key);
    return has_row(r, steps) || (above != nullptr && names(above->text, key));
  });
}

std::string without_numbers(const std::string& path) { return std::regex_replace(path, std::regex("\\[[0-9]+\\]"), "[]"); }

}  // namespace

TEST_CASE("every table of keys that a person writes has its reader") {
  const std::set<std::string> written_by_us = {"JSON result, format 2", "Capacity result", "Comparison",
                                               "Capacity result: `capacity_summary`:", "Explanations: `against_data_parallel` of JSON:"};
  const std::vector<Read> read = read_tables();
  for (const KeyTable& t : test::tables_of(test::formats_text())) {
    const bool has_reader = std::ranges::any_of(read, [&](const Read& r) { return is_of(t, r.reader); });
    if (t.columns[0] == "key" && !written_by_us.contains(t.name)) CHECK_MESSAGE(has_reader, t.name);
  }
}

TEST_CASE("the documents that keys are tried in are sound, but for files that are not there") {
  for (const Read& r : read_tables())
    for (const Yaml& document : r.reader.documents)
      for (const base::Diagnostic& d : problems_of(r.reader, document))
        CHECK_MESSAGE(d.message.starts_with("no file is called"), r.table.name, ": ", d.path, ": ", d.message);
}

TEST_CASE("a reader knows every key of its table") {
  for (const Read& r : read_tables())
    for (const KeyRow& row : r.table.rows)
      for (const std::string& key : row.keys) {
        const std::vector<Spot> spots = spots_of(r.reader, key);
        CHECK_MESSAGE(!spots.empty(), r.table.name, ": no document has the map of ", key);
        const bool known = std::ranges::any_of(spots, [&](const Spot& spot) {
          const auto names_there = known_at(r.reader, r.reader.documents[spot.document], spot.parent);
          return !names_there || std::ranges::find(*names_there, spot.key) != names_there->end();
        });
        CHECK_MESSAGE(known, r.table.name, ": ", key);
      }
}

TEST_CASE("every key that a reader knows has its row, or stands in the row of its map") {
  for (const Read& r : read_tables()) {
    std::set<std::string> missing;
    for (std::size_t i = 0; i < r.reader.documents.size(); ++i) {
      std::vector<std::string> maps;
      collect_maps(r.reader.documents[i], "", maps);
      for (const std::string& map : maps) {
        const std::vector<std::string> steps = steps_of(map);
        if (!describes(r, steps)) continue;
        const auto known = known_at(r.reader, r.reader.documents[i], steps);
        for (const std::string& key : known.value_or(std::vector<std::string>{}))
          if (!is_described(r, steps, key)) missing.insert(without_numbers(joined(map, key)));
      }
    }
    for (const std::string& key : missing) CHECK_MESSAGE(false, r.table.name, ": no row of ", key);
  }
}

TEST_CASE("a key takes values of its type up to its bounds, and refuses others") {
  for (const Read& r : read_tables())
    for (const KeyRow& row : r.table.rows) {
      const test::Samples samples = test::samples_of(row.type);
      for (const std::string& key : row.keys) {
        const std::vector<Spot> spots = spots_of(r.reader, key);
        for (const std::string& value : samples.accepted) {
          const bool taken =
              std::ranges::any_of(spots, [&](const Spot& s) { return takes(problems_of(r.reader, with_value(r.reader, s, value)), s); });
          CHECK_MESSAGE(taken, r.table.name, ": ", key, ": ", value, " is ", row.type);
        }
        for (const std::string& value : samples.refused) {
          const bool refused = std::ranges::all_of(where_written(r.reader, spots), [&](const Spot& s) {
            return refuses(problems_of(r.reader, with_value(r.reader, s, value)), s);
          });
          CHECK_MESSAGE(refused, r.table.name, ": ", key, ": ", value, " is not ", row.type);
        }
      }
    }
}

TEST_CASE("a required key is missed") {
  for (const Read& r : read_tables())
    for (const KeyRow& row : r.table.rows) {
      if (row.by_default != "required" && !r.reader.all_required) continue;
      for (const std::string& key : row.keys)
        for (const Spot& spot : spots_of(r.reader, key))
          if (present(r.reader, spot) != nullptr)
            CHECK_MESSAGE(refuses(problems_of(r.reader, without(r.reader, spot)), spot), r.table.name, ": ", key);
    }
}

namespace {

// Another value of the type than the default, which would mean something else; nullopt: the type does not say any.
std::optional<std::string> other_than(const std::string& by_default, const std::string& type) {
  if (type == "boolean") return by_default == "true" ? "false" : "true";
  if (type.starts_with("integer") && by_default.find_first_not_of("0123456789") == std::string::npos)
    return std::to_string(std::stoll(by_default) + 1);
  for (const std::string& word : test::samples_of(type).accepted)
    if (word != by_default) return word;
  return std::nullopt;
}

// What a row says of a default, tried in every document that takes it.
class DefaultTrial {
 public:
  DefaultTrial(const Read& read, const KeyRow& row, std::string value) : read_(read), row_(row), value_(std::move(value)) {
    const std::vector<std::string> words = test::code_words(row.type);
    is_key_ = std::ranges::find(words, value_) == words.end() && std::ranges::any_of(read.table.rows, [&](const KeyRow& other) {
                return std::ranges::find(other.keys, value_) != other.keys.end();
              });
  }

  void try_at(const Spot& spot) {
    Spot other = spot;
    other.key = value_;
    const Yaml* said = is_key_ ? present(read_.reader, other) : nullptr;  // the default is what another key of the map says
    if (is_key_ && said == nullptr) return;
    const std::string written = said != nullptr ? said->scalar : value_;
    const Yaml left_out = without(read_.reader, spot), with = with_value(read_.reader, spot, written);
    if (!is_sound(left_out) || !is_sound(with)) return;
    ++tried_;
    is_default_ = is_default_ && read_.reader.same(with, left_out);
    const auto value = other_than(written, row_.type);
    if (!value) return;
    const Yaml with_other = with_value(read_.reader, spot, *value);
    if (is_sound(with_other)) matters_ = matters_.value_or(false) || !read_.reader.same(with_other, left_out);
  }

  [[nodiscard]] int tried() const { return tried_; }
  [[nodiscard]] bool is_default() const { return is_default_; }
  // Another value means something else in one of the documents; where none could be tried, this is not known to be wrong.
  [[nodiscard]] bool matters() const { return matters_.value_or(true); }

 private:
  bool is_sound(const Yaml& document) const { return problems_of(read_.reader, document).empty(); }

  const Read& read_;
  const KeyRow& row_;
  std::string value_;
  bool is_key_ = false, is_default_ = true;
  std::optional<bool> matters_;
  int tried_ = 0;
};

}  // namespace

TEST_CASE("a document that writes a default means what it means without the key, and another value something else") {
  for (const Read& r : read_tables()) {
    if (!r.reader.same) continue;
    for (const KeyRow& row : r.table.rows) {
      const auto value = test::default_value(row.by_default);
      if (!value) continue;
      for (const std::string& key : row.keys) {
        DefaultTrial trial(r, row, *value);
        for (const Spot& spot : spots_of(r.reader, key)) trial.try_at(spot);
        CHECK_MESSAGE(trial.tried() > 0, r.table.name, ": no document takes ", key, " with its default ", *value);
        CHECK_MESSAGE(trial.is_default(), r.table.name, ": ", key, " is ", *value, " by default");
        CHECK_MESSAGE(trial.matters(), r.table.name, ": ", key, " changes nothing in any document");
      }
    }
  }
}
