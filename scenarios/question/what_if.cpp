#include "scenarios/question/what_if.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/units.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "base/yaml/reader.hpp"
#include "profiles/device_profile.hpp"
#include "scenarios/question/scenario.hpp"
#include "scenarios/question/training.hpp"
#include "topology/load.hpp"
#include "topology/profile_keys.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

constexpr std::array<std::string_view, 3> kSections = {"model", "cluster", "training"};

// Keys that a section may have and that a document need not spell out. What is no key at all is found when the variant is loaded.
base::UnknownKey when_unknown(std::string_view path) {
  const bool optional = path == "model" || path == "training" || path.starts_with("model.") || path.starts_with("training.") ||
                        (path.starts_with("cluster.node") && path.find(".gpus") != std::string_view::npos) ||
                        path.starts_with("cluster.node.domain.") || path == "cluster.network" || path.starts_with("cluster.network.") ||
                        path == "cluster.network_profile" || path == "cluster.network_profile.file" || path == "cluster.faults" ||
                        path == "cluster.in_network";
  return optional ? base::UnknownKey::add : base::UnknownKey::refuse;
}

bool names_section(std::string_view path) {
  return std::ranges::any_of(kSections, [&](std::string_view s) { return path == s || path.starts_with(std::string(s) + "."); });
}

// One way of giving the batch replaces the other; both are a contradiction, which is found when the variant is loaded.
void drop_other_batch(Yaml& document, const WhatIf& w) {
  Yaml* training = document.find("training");
  const auto sets = [&](const std::string& key) {
    return std::ranges::any_of(w.set, [&](const auto& set) { return set.first == "training." + key; });
  };
  const bool sets_whole = sets("global_batch"), sets_per_gpu = sets("batch_per_gpu");
  if (training != nullptr && sets_whole != sets_per_gpu) training->erase(sets_whole ? "batch_per_gpu" : "global_batch");
}

// A what-if may change any key of the framework's profile, so all of them have to be there; another profile replaces the one before.
// Returns false where there is nothing to change: no framework is named, which is reported in `sink`, or the one that is written has
// problems of its own, which are reported there.
bool prepare_framework(Yaml& document, std::string_view path, const Yaml& value, const std::filesystem::path& directory, Diagnostics& sink,
                       const std::string& place) {
  constexpr std::string_view kPath = "training.framework";
  Yaml* training = document.find("training");
  Yaml* written = training != nullptr ? training->find("framework") : nullptr;
  const bool is_key = path.starts_with(std::string(kPath) + ".");
  if (written == nullptr) {
    if (is_key)
      sink.add(value.mark, place, "the scenario names no framework whose key could change", "write e.g. framework: generic in training");
    return !is_key;
  }
  if (path == kPath && (value.find("name") != nullptr || value.find("file") != nullptr)) training->erase("framework");
  if (!is_key) return true;
  Diagnostics reported_elsewhere;
  Framework f = read_framework(*written, std::string(kPath), directory, reported_elsewhere);
  if (reported_elsewhere.empty()) *written = std::move(f.section);
  return reported_elsewhere.empty();
}

// Another type of network leaves the keys behind that it has not.
void adopt_network(Yaml& document, std::string_view path, const Yaml& value) {
  const Yaml* type = path == "cluster.network" ? value.find("type") : path == "cluster.network.type" ? &value : nullptr;
  Yaml* cluster = document.find("cluster");
  if (type != nullptr && cluster != nullptr) topology::adopt_network_type(*cluster, type->scalar);
}

// Keys of a model's section that say where the model comes from; the others say how it is trained.
constexpr std::array<std::string_view, 5> kModelSources = {"builtin", "transformer", "huggingface", "onnx", "graph"};

bool is_another_model(std::string_view target, const Yaml& value) {
  return target == "model" && std::ranges::any_of(kModelSources, [&](std::string_view k) { return value.find(k) != nullptr; });
}

bool is_another_machine(std::string_view target, const Yaml& value) {
  return target == "cluster.preset" || target == "cluster.file" ||
         (target == "cluster" && (value.find("preset") != nullptr || value.find("file") != nullptr));
}

// Another preset or file (`key`) beside the scenario's own keys, nodes among them; of a cluster with neither the nodes alone stay.
Yaml with_another_start(const Patchable& base, std::string_view key, const Yaml& name) {
  Yaml cluster = base.written_cluster;
  if (cluster.find("preset") == nullptr && cluster.find("file") == nullptr) {
    const Yaml* nodes = base.document.find("cluster")->find("nodes");
    cluster = Yaml::make_map(name.mark);
    if (nodes != nullptr) cluster.set("nodes", *nodes, nodes->mark);
  }
  for (const char* other : {"preset", "file"}) cluster.erase(other);
  cluster.set(std::string(key), name, name.mark);
  return cluster;
}

// Whether the what-if's entry replaced a section as a whole.
bool replaced(const Patchable& base, Yaml& document, std::string_view target, const Yaml& value, const std::string& place,
              Diagnostics& sink) {
  if (is_another_model(target, value)) {
    document.set("model", with_absolute_files(value, base.directory), value.mark);
    return true;
  }
  if (!is_another_machine(target, value)) return false;
  try {
    const Yaml cluster = target == "cluster" ? value : with_another_start(base, target.substr(std::string_view("cluster.").size()), value);
    document.set("cluster", topology::expand_cluster(cluster, place, base.directory), value.mark);
  } catch (const base::InputError& e) { sink.add_all(e); }
  return true;
}

// The memory of a GPU by its profile, so that "2x" of it can be asked for. `path`: "cluster.node.gpus.memory".
void spell_out_gpus(Yaml& document, std::string_view path) {
  constexpr std::string_view kGpus = ".gpus.";
  const std::size_t at = path.rfind(kGpus);
  if (at == std::string_view::npos) return;
  const std::string_view key = path.substr(at + kGpus.size());
  Yaml* gpus = base::find_at(document, path.substr(0, at + kGpus.size() - 1));
  if (gpus == nullptr || !gpus->is_map()) return;
  Yaml* written = gpus->find(key);
  if (key == "compute_speed" || key == "memory_speed" || key == "host_speed") {
    if (written == nullptr) gpus->set(key, Yaml::make_scalar("1.0", gpus->mark));
    // A speed is no count: half of 1 is a half.
    else if (written->scalar.find_first_not_of("0123456789") == std::string::npos) written->scalar += ".0";
    return;
  }
  if (written != nullptr) return;
  const Yaml* type = gpus->find(gpus->find("file") != nullptr ? "file" : "type");
  if (key != "memory" || type == nullptr || !type->is_scalar()) return;
  try {
    gpus->set(key, Yaml::make_scalar(fmt::format("{:.0f} B", profiles::device_profile(type->scalar).memory.value()), gpus->mark));
  } catch (const base::InputError&) {}  // no such profile: reported where the variant is loaded
}

// A value that may name profiles: their files are whole paths, and take the place of what the cluster names.
Yaml with_profiles(Yaml& document, const std::string& target, Yaml value, const std::filesystem::path& directory) {
  constexpr std::string_view kCluster = "cluster";
  Yaml* cluster = document.find(kCluster);
  if (cluster == nullptr || (target != kCluster && !target.starts_with("cluster."))) return value;
  const std::string path = target.substr(std::min(target.size(), kCluster.size() + 1));
  topology::complete_profile_files(value, path, directory);
  topology::adopt_profiles(*cluster, path, value);
  return value;
}

void patch(Yaml& document, const std::string& target, const Yaml& value, const std::filesystem::path& directory, const std::string& place,
           Diagnostics& sink) {
  if (!names_section(target)) {
    sink.add(value.mark, place, fmt::format("\"{}\" is no part of model, cluster, training or plans", target),
             "write the path from the top, e.g. cluster.nodes, or plans.NAME.tensor");
    return;
  }
  adopt_network(document, target, value);
  spell_out_gpus(document, target);
  if (prepare_framework(document, target, value, directory, sink, place))
    base::patch_yaml(document, target, with_profiles(document, target, value, directory), sink, place, when_unknown(target));
}

// The limit of all sweeps of a scenario together: more is a slip of the pen, or a question for several scenarios.
constexpr std::size_t kMostVariants = 100'000;

struct SweptKey {
  std::string key;
  const Yaml* values;
};

// The name of a point of a sweep, and of the values that a run was made with: "4x", "{preset: dgx-h100}".
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
    if (in.has("name") && !is_name(w.name)) in.complain("name", std::string(kNoName), "write e.g. twice the nodes");
    else if (w.name == kBaseName) in.complain("name", "\"base\" is the scenario itself", "choose another name");
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

void add_node(const std::string& path, std::vector<Parameter>& all) {
  for (const char* key : {"compute_speed", "memory_speed", "host_speed"})
    all.push_back({fmt::format("{}.gpus.{}", path, key), false, false});
  all.push_back({path + ".gpus.memory", false, true});
}

}  // namespace

Yaml with_absolute_files(Yaml model, const std::filesystem::path& directory) {
  for (const char* key : {"huggingface", "onnx", "graph"})
    if (Yaml* file = model.find(key); file != nullptr && file->is_scalar())
      file->scalar = std::filesystem::absolute(directory / file->scalar).lexically_normal().string();
  return model;
}

Yaml patched(const Patchable& base, const WhatIf& what_if, Diagnostics& sink) {
  Yaml document = base.document;
  std::vector<const std::pair<std::string, Yaml>*> keys;
  for (const auto& set : what_if.set)
    if (!set.first.starts_with(kPlansPath) && !replaced(base, document, set.first, set.second, place_of(what_if, set.first), sink))
      keys.push_back(&set);
  drop_other_batch(document, what_if);
  for (const auto* key : keys) patch(document, key->first, key->second, base.directory, place_of(what_if, key->first), sink);
  return document;
}

std::string place_of(const WhatIf& w, const std::string& target) {
  return fmt::format("{}.{}[{}]", w.place, w.sweep.empty() ? "set" : "sweep", target);
}

std::vector<WhatIf> read_what_ifs(const Yaml& list, Diagnostics& sink) {
  EntryReader reader(sink);
  if (!list.is_sequence())
    sink.add(list.mark, "what_if", "expected a list", "write e.g. - {name: twice the nodes, set: {cluster.nodes: 2x}}");
  for (std::size_t i = 0; i < list.items.size(); ++i) reader.read(list.items[i], fmt::format("what_if[{}]", i));
  return std::move(reader).take();
}

std::vector<Parameter> parameters_of(const base::Yaml& cluster) {
  std::vector<Parameter> all;
  if (const base::Yaml* links = cluster.find("links"))
    for (const base::Yaml::Entry& link : links->entries) {
      const std::string path = "cluster.links." + link.key;
      all.push_back({path + ".bandwidth", false, false});
      const base::Yaml* latency = link.value.find("latency");
      if (latency != nullptr && base::parse_seconds(latency->scalar) != base::Seconds(0)) all.push_back({path + ".latency", true, false});
    }
  if (cluster.find("node") != nullptr) add_node("cluster.node", all);
  if (const base::Yaml* types = cluster.find("node_types"))
    for (std::size_t t = 0; t < types->items.size(); ++t) add_node(fmt::format("cluster.node_types[{}]", t), all);
  return all;
}

WhatIf changed_by(const Parameter& p, double factor) {
  const std::string text = fmt::format("{:.12g}x", factor);
  return {.name = p.path, .place = p.path, .set = {{p.path, base::Yaml::make_scalar(text)}}, .settings = {{p.path, text}}};
}

double improvement(const Parameter& p) { return p.more_is_worse ? 0.5 : 2; }

}  // namespace scenarios
