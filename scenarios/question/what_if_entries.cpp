#include "scenarios/question/what_if_entries.hpp"

#include <fmt/core.h>

#include <set>

#include "base/yaml/emit.hpp"
#include "base/yaml/reader.hpp"
#include "scenarios/question/scenario.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

// Of all sweeps of a scenario together: more is a slip of the pen, or a question for several scenarios.
constexpr std::size_t kMostVariants = 100'000;

struct SweptKey {
  std::string key;
  const Yaml* values;
};

// What a point of a sweep is called, and how a run names what it was made with: "4x", "{preset: dgx-h100}".
std::string text_of(const Yaml& value) { return value.is_scalar() ? value.scalar : base::flow_text(value); }

class EntryReader {
 public:
  explicit EntryReader(Diagnostics& sink) : sink_(sink) {}

  void read(const Yaml& item, const std::string& path) {
    MapReader in(item, path, sink_);
    if (!item.is_map()) return;
    in.require("name");
    WhatIf w;
    w.place = path;
    w.name = in.text("name").value_or("");
    if (w.name == kBaseName) in.complain("name", "\"base\" is the scenario itself", "choose another name");
    else if (in.has("name") && !names_.insert(w.name).second)
      in.complain("name", fmt::format("another what-if is called \"{}\" too", w.name), "choose another name");
    w.replan = in.boolean("replan").value_or(true);
    if (!in.has("sweep")) in.require("set");
    if (const Yaml* set = in.optional("set")) {
      MapReader keys(*set, in.path_of("set"), sink_);
      for (const Yaml::Entry& e : set->entries) add(w, e.key, e.value);
      if (set->is_map() && set->entries.empty()) in.complain("set", "it changes nothing", "write e.g. {cluster.nodes: 2x}");
    }
    const std::vector<SweptKey> swept = read_sweep(in, w);
    in.finish();
    if (swept.empty()) what_ifs_.push_back(std::move(w));
    else add_points(w, swept, in);
  }

  std::vector<WhatIf> take() && { return std::move(what_ifs_); }

 private:
  static void add(WhatIf& w, const std::string& key, const Yaml& value) {
    w.set.emplace_back(key, value);
    w.settings.emplace_back(key, text_of(value));
  }

  std::vector<SweptKey> read_sweep(MapReader& in, const WhatIf& w) {
    std::vector<SweptKey> swept;
    const Yaml* sweep = in.optional("sweep");
    if (sweep == nullptr) return swept;
    const std::string path = in.path_of("sweep");
    MapReader keys(*sweep, path, sink_);
    if (sweep->is_map() && sweep->entries.empty()) in.complain("sweep", "it changes nothing", "write e.g. {cluster.nodes: [2, 4, 8]}");
    for (const Yaml::Entry& e : sweep->entries) {
      const std::string place = fmt::format("{}[{}]", path, e.key);
      if (!e.value.is_sequence() || e.value.items.empty()) {
        sink_.add(e.value.mark, place, "expected a list of values", "write e.g. [0.5x, 1x, 2x]");
        continue;
      }
      for (const auto& [key, value] : w.set)
        if (key == e.key) sink_.add(e.key_mark, place, "the key is set beside the sweep, too", "leave it in one of the two");
      std::set<std::string> texts;
      for (const Yaml& value : e.value.items)
        if (!texts.insert(text_of(value)).second)
          sink_.add(value.mark, place, fmt::format("\"{}\" is in the list twice", text_of(value)), "leave one of the two out");
      swept.push_back({e.key, &e.value});
    }
    return swept;
  }

  // The product of the lists, counted up like the digits of a number.
  void add_points(const WhatIf& sweep, const std::vector<SweptKey>& swept, MapReader& in) {
    double points = 1;
    for (const SweptKey& s : swept) points *= static_cast<double>(s.values->items.size());
    if (points + static_cast<double>(what_ifs_.size()) > static_cast<double>(kMostVariants))
      return in.complain("sweep", fmt::format("its lists make {:.0f} variants, and a scenario has at most {}", points, kMostVariants),
                         "leave values out, or cut it into several scenarios");
    std::vector<std::size_t> at(swept.size(), 0);
    for (auto left = static_cast<std::size_t>(points); left > 0; --left) {
      WhatIf point = sweep;
      point.sweep = sweep.name;
      std::string name = sweep.name + ":";
      for (std::size_t k = 0; k < swept.size(); ++k) {
        const Yaml& value = swept[k].values->items[at[k]];
        add(point, swept[k].key, value);
        name += fmt::format("{} {}={}", k == 0 ? "" : ",", swept[k].key, text_of(value));
      }
      point.name = std::move(name);
      what_ifs_.push_back(std::move(point));
      for (std::size_t k = swept.size(); k-- > 0;) {
        if (++at[k] < swept[k].values->items.size()) break;
        at[k] = 0;
      }
    }
  }

  Diagnostics& sink_;
  std::vector<WhatIf> what_ifs_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<WhatIf> read_what_ifs(const Yaml& list, Diagnostics& sink) {
  EntryReader reader(sink);
  if (!list.is_sequence())
    sink.add(list.mark, "what_if", "expected a list", "write e.g. - {name: twice the nodes, set: {cluster.nodes: 2x}}");
  for (std::size_t i = 0; i < list.items.size(); ++i) reader.read(list.items[i], fmt::format("what_if[{}]", i));
  return std::move(reader).take();
}

}  // namespace scenarios
