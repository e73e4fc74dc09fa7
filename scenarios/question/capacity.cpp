#include "scenarios/question/capacity.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "scenarios/question/subject.hpp"
#include "topology/load.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

constexpr const char* kDefaultPlans = "[{megatron: search}]";  // quick for every model, and no worse than data parallelism

// Puts the problems of a section into `sink` under the candidate's path: "cluster.nodes" is that of a candidate.
void add_below(const Diagnostics& problems, const std::string& path, Diagnostics& sink) {
  try {
    problems.throw_if_any();
  } catch (const base::InputError& e) {
    for (const base::Diagnostic& d : e.diagnostics()) sink.add(d.mark, d.path.empty() ? path : path + "." + d.path, d.message, d.hint);
  }
}

// Training keys of a candidate take the place of the scenario's.
void adopt_training(Yaml& training, const Yaml& changes) {
  if (changes.find("batch_per_gpu") != nullptr || changes.find("global_batch") != nullptr)
    for (const char* key : {"batch_per_gpu", "global_batch"}) training.erase(key);
  for (const Yaml::Entry& e : changes.entries) training.set(e.key, e.value, e.key_mark);
}

bool is_words(const Yaml& y) {
  return y.is_scalar() || (y.is_sequence() && !y.items.empty() && std::ranges::all_of(y.items, &Yaml::is_scalar));
}

// A candidate with several precisions is several candidates, each named after its own.
std::vector<Yaml> by_precision(const Yaml& item, const std::string& name) {
  const Yaml* asked = item.is_map() ? item.find("precision") : nullptr;
  if (asked == nullptr) return {item};
  std::vector<Yaml> all;
  for (const Yaml& precision : asked->is_sequence() ? asked->items : std::vector<Yaml>{*asked}) {
    Yaml& one = all.emplace_back(item);
    one.erase("precision");
    if (asked->is_sequence()) one.set("name", Yaml::make_scalar(fmt::format("{}, {}", name, precision.scalar), precision.mark));
    Yaml training = item.find("training") != nullptr ? *item.find("training") : Yaml::make_map(precision.mark);
    training.set("precision", precision, precision.mark);
    one.set("training", std::move(training), precision.mark);
  }
  return all;
}

// Which machine to take may turn round with the precision.
void add_precision_note(CapacityQuestion& question) {
  std::set<std::pair<std::string, pcg::Precision>> asked;
  for (const Variant& v : question.machines) asked.emplace(v.cluster->devices().front().type, v.training.precision);
  std::set<std::string> faster;
  for (const Variant& v : question.machines) {
    const std::string& type = v.cluster->devices().front().type;
    for (const auto& [precision, factor] : faster_precisions(v))
      if (!asked.contains({type, precision})) faster.insert(fmt::format("{} in {}", type, pcg::to_text(precision)));
  }
  if (!faster.empty())
    question.notes.push_back(
        {base::NoteKind::caution, "faster-precision",
         fmt::format("some machines multiply faster in a precision that is not asked about: {}; write e.g. precision: [bf16, "
                     "fp8] in a candidate",
                     fmt::join(faster, ", "))});
}

class Reader {
 public:
  Reader(const CapacityContext& scenario, VariantLoader& loader, CapacityQuestion& question, Diagnostics& sink)
      : scenario_(scenario), loader_(loader), question_(question), sink_(sink) {}

  void read(const Yaml& item, const std::string& path) {
    const Yaml* cluster = item.is_map() ? item.find("cluster") : nullptr;
    const Yaml* name = item.is_map() ? item.find("name") : nullptr;
    if (const Yaml* asked = item.is_map() ? item.find("precision") : nullptr; asked != nullptr && !is_words(*asked)) {
      sink_.add(asked->mark, path + ".precision", "expected a precision, or a list of them", "write e.g. bf16, or [bf16, fp8]");
      return;
    }
    for (const Yaml& one : by_precision(item, name != nullptr ? name->scalar : cluster != nullptr ? name_of(*cluster) : "candidate"))
      read_one(one, path);
  }

  // What the scenario asks of the first candidate; that one's own question where no such can be loaded.
  std::optional<Variant> base() {
    Diagnostics incomplete;
    std::optional<Variant> base = first_ ? loader_.load(*first_, incomplete) : std::nullopt;
    return base || question_.machines.empty() ? base : question_.machines.front();
  }

 private:
  void read_one(const Yaml& item, const std::string& path) {
    MapReader in(item, path, sink_);
    (void)in.optional("precision");
    CandidateTerms terms = read_candidate_terms(in);
    const std::vector<int> nodes = read_nodes(in);
    const auto name = in.text("name");
    const Yaml* cluster = in.required("cluster");
    const Yaml* training = in.optional("training");
    if (training != nullptr && !training->is_map()) (void)MapReader(*training, in.path_of("training"), sink_);
    if (cluster != nullptr && !nodes.empty() && cluster->is_map() && cluster->find("nodes") != nullptr)
      in.complain("nodes", "the cluster says how many nodes there are as well", "keep one of them");
    for (const auto& [key, per] :
         {std::pair("price", terms.price ? terms.price->per : Per::gpu), {"power", terms.power ? terms.power->per : Per::gpu}})
      if (per == Per::all && nodes.size() > 1)
        in.complain(key, "it is of the whole machine, which is asked about in several sizes", "write it per node or per GPU");
    in.finish();
    if (!item.is_map()) return;
    terms.name = unique(name.value_or(cluster != nullptr ? name_of(*cluster) : ""));
    question_.terms.candidates.push_back(std::move(terms));
    if (cluster == nullptr) return;
    const bool is_first = !first_;
    const auto document = document_of(*cluster, training, in.path_of("cluster"));
    if (!document) return;
    if (is_first && !nodes.empty()) first_ = with_nodes(*first_, nodes.front(), *in.node().find("nodes"));
    if (nodes.empty() && !in.has("nodes")) add_point(*document, path);
    for (const int n : nodes) add_point(with_nodes(*document, n, *in.node().find("nodes")), path);
  }

  // The preset's name, the cluster's own, or the file's.
  static std::string name_of(const Yaml& cluster) {
    for (const char* key : {"preset", "name"})
      if (const Yaml* name = cluster.find(key); name != nullptr && name->is_scalar()) return name->scalar;
    if (const Yaml* file = cluster.find("file"); file != nullptr && file->is_scalar())
      return std::filesystem::path(file->scalar).filename().stem().stem().string();
    return "candidate";
  }

  // A repeated name becomes "dgx-h100#2".
  std::string unique(const std::string& wish) {
    std::string name = wish;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}#{}", wish, n);
    return name;
  }

  // The scenario's document with the candidate's cluster and training; nullopt where the base or the cluster has problems.
  std::optional<Yaml> document_of(const Yaml& cluster, const Yaml* training, const std::string& path) {
    std::optional<Yaml> expanded;
    try {
      expanded = topology::expand_cluster(cluster, path, scenario_.directory);
    } catch (const base::InputError& e) { sink_.add_all(e); }
    if (!expanded || !scenario_.sound) return std::nullopt;
    Yaml document = scenario_.document;
    document.set("cluster", std::move(*expanded), cluster.mark);
    if (!first_) first_ = document;
    if (training != nullptr && training->is_map()) adopt_training(*document.find("training"), *training);
    return document;
  }

  static Yaml with_nodes(Yaml document, int nodes, const Yaml& written) {
    document.find("cluster")->set("nodes", Yaml::make_scalar(fmt::format("{}", nodes), written.mark), written.mark);
    return document;
  }

  void add_point(Yaml document, const std::string& path) {
    const std::string text = base::emit_yaml(document);
    auto at = std::ranges::find(texts_, text);
    if (at == texts_.end()) {
      Diagnostics problems;
      auto machine = loader_.load(std::move(document), problems);
      add_below(problems, path, sink_);
      if (!machine) return;
      question_.machines.push_back(std::move(*machine));
      at = texts_.insert(texts_.end(), text);
    }
    const auto machine = static_cast<std::size_t>(at - texts_.begin());
    const std::size_t candidate = question_.terms.candidates.size() - 1;
    question_.points.push_back({candidate, machine, fleet_of(*question_.machines[machine].cluster, question_.terms.candidates.back())});
  }

  static Fleet fleet_of(const topology::Cluster& cluster, const CandidateTerms& terms) {
    Fleet fleet{.nodes = cluster.nodes(), .gpus = cluster.device_count()};
    if (!terms.owned) return fleet;
    fleet.owned_nodes = std::min(terms.owned->nodes.value_or(fleet.nodes), fleet.nodes);
    for (int node = 0; node < fleet.owned_nodes; ++node) fleet.owned_gpus += static_cast<int>(cluster.node_devices(node).size());
    return fleet;
  }

  const CapacityContext& scenario_;
  VariantLoader& loader_;
  CapacityQuestion& question_;
  Diagnostics& sink_;
  std::set<std::string> names_;
  std::vector<std::string> texts_;  // of the machines' documents
  std::optional<Yaml> first_;       // the first candidate's cluster, trained on as the scenario has it
};

void check_budget(MapReader& in, const CapacityTerms& terms, Diagnostics& sink) {
  const auto costs = [](const CandidateTerms& c) { return c.price || c.owned; };
  if (terms.budget && sink.empty() && std::ranges::none_of(terms.candidates, costs))
    in.complain("budget", "no candidate has a price to compare with it", "add e.g. price: 2.50 USD/gpu/h to the candidates");
}

// 300 tokens are a slip of the pen for 300B.
void add_work_note(CapacityQuestion& question, const Variant& machine) {
  const auto batch = static_cast<double>(machine.training.global_batch);
  const Work& work = question.terms.work;
  const double each = work.unit == Work::Unit::tokens ? batch * static_cast<double>(machine.model->tokens_per_sample()) : batch;
  if (work.unit != Work::Unit::iterations && work.amount < each)
    question.notes.push_back({base::NoteKind::caution, "under-an-iteration",
                              fmt::format("the whole training is less than one iteration, of {:.12g} {}: is train right?", each,
                                          work.unit == Work::Unit::tokens ? "tokens" : "samples")});
}

void check_work(const Yaml& section, const CapacityQuestion& question, const Variant& machine, Diagnostics& sink) {
  if (question.terms.work.unit != Work::Unit::tokens || machine.model->tokens_per_sample() > 0) return;
  const Yaml* train = section.find("train");
  const Yaml* tokens = train != nullptr ? train->find("tokens") : nullptr;
  if (tokens != nullptr)
    sink.add(tokens->mark, "capacity.train.tokens", "the model has no tokens", "write samples: or iterations: in place of tokens");
}

// The same number of tokens in larger batches is another training.
void add_batch_note(CapacityQuestion& question) {
  std::set<std::int64_t> batches;
  for (const Variant& v : question.machines) batches.insert(v.training.global_batch);
  if (batches.size() > 1)
    question.notes.push_back({base::NoteKind::caution, "batch-differs",
                              fmt::format("the global batch differs, from {} to {} samples: as much is trained everywhere, but not as much "
                                          "need be learned",
                                          *batches.begin(), *batches.rbegin())});
}

}  // namespace

CapacityQuestion read_capacity(const Yaml& section, const CapacityContext& scenario, VariantLoader& loader, Diagnostics& sink) {
  MapReader in(section, "capacity", sink);
  CapacityQuestion question;
  question.terms = read_terms(in);
  const Yaml* own = in.optional("plans");
  question.plans = own != nullptr ? read_plan_entries(*own, in.path_of("plans"), scenario.directory, sink) : scenario.plans;
  if (own == nullptr && scenario.plans.empty()) {
    question.plans = read_plan_entries(base::parse_yaml(kDefaultPlans, "<default plans>"), in.path_of("plans"), {}, sink);
    question.notes.push_back(
        {base::NoteKind::assumption, "default-plans", "no plans are named: each machine trains by the best plan of megatron: search"});
  }
  const Yaml* candidates = in.required("candidates");
  in.finish();
  if (candidates != nullptr && (!candidates->is_sequence() || candidates->items.empty()))
    in.complain("candidates", "expected a list of candidates",
                "write e.g. - {cluster: {preset: dgx-h100}, nodes: [4, 8], price: 2.50 USD/gpu/h}");
  Reader reader(scenario, loader, question, sink);
  for (std::size_t i = 0; candidates != nullptr && i < candidates->items.size(); ++i)
    reader.read(candidates->items[i], fmt::format("{}[{}]", in.path_of("candidates"), i));
  question.base = reader.base();
  check_budget(in, question.terms, sink);
  if (!question.machines.empty()) {
    check_work(section, question, question.machines.front(), sink);
    add_work_note(question, question.machines.front());
  }
  add_batch_note(question);
  add_precision_note(question);
  return question;
}

}  // namespace scenarios
