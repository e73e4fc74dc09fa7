#include "scenarios/question/subject.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "scenarios/question/what_if.hpp"
#include "topology/profile_keys.hpp"

namespace scenarios {
namespace {

using base::Yaml;

// Makes a file that a map names under `key` a whole path.
void make_absolute(Yaml* map, std::string_view key, const std::filesystem::path& directory) {
  if (map == nullptr || !map->is_map()) return;
  Yaml* file = map->find(key);
  if (file != nullptr && file->is_scalar() && file->scalar != "-")
    file->scalar = std::filesystem::absolute(directory / file->scalar).lexically_normal().string();
}

void make_files_absolute(Yaml& training_or_entry, const std::filesystem::path& directory) {
  if (training_or_entry.is_map()) make_absolute(training_or_entry.find("framework"), "file", directory);
}

// The lists of plans name saved plans, and their planners files of rules.
void make_plans_absolute(Yaml* plans, const std::filesystem::path& directory) {
  if (plans == nullptr) return;
  for (Yaml& entry : plans->items) {
    if (!entry.is_map()) continue;
    make_absolute(&entry, "file", directory);
    make_files_absolute(entry, directory);
    for (Yaml::Entry& kind : entry.entries)
      if (kind.key != "framework") make_absolute(&kind.value, "rules", directory);
  }
}

void make_cluster_absolute(Yaml& cluster, const std::filesystem::path& directory) {
  make_absolute(&cluster, "file", directory);
  topology::complete_profile_files(cluster, "", directory);
}

void say(Yaml& map, std::string_view key, std::string text) {
  if (map.find(key) == nullptr) map.set(key, Yaml::make_scalar(std::move(text)));
}

// The number of tokens that a builtin model has unless another is asked for; 0: it has no such setting, or it is written.
std::int64_t taken_length(const Variant& v) {
  Yaml model = *v.document.find("model");
  const std::int64_t tokens = v.model->tokens_per_sample();
  if (model.find("builtin") == nullptr || model.find("sequence_length") != nullptr || tokens == 0) return 0;
  say(model, "sequence_length", fmt::format("{}", tokens));
  try {
    return pcg::models::load_model(model, "model", {}, 1) == *v.model ? tokens : 0;
  } catch (const base::InputError&) { return 0; }  // the model has no such key
}

bool is_written(const Variant& v, std::string_view key) { return v.document.find("training")->find(key) != nullptr; }

// The least factor by which any GPU multiplies faster in `fast`; 0: one does not train in it.
double speedup(const std::set<std::string>& types, pcg::Precision fast, pcg::Precision asked) {
  double least = types.empty() ? 0 : 1e9;
  for (const std::string& type : types) {
    const profiles::DeviceProfile& d = profiles::device_profile(type);
    const auto at = d.peak.find(fast), from = d.peak.find(asked);
    least = std::min(least, at == d.peak.end() || from == d.peak.end() ? 0 : at->second / from->second);
  }
  return least;
}

}  // namespace

Subject subject_of(const Variant& base, bool has_cluster) {
  Subject s{.model = base.model->name(),
            .parameters = base.model->parameters(),
            .global_batch = base.training.global_batch,
            .sequence_length = base.model->tokens_per_sample(),
            .precision = base.training.precision,
            .optimizer = base.training.optimizer,
            .framework = base.framework.name()};
  if (!has_cluster) return s;
  s.cluster = base.cluster->name();
  s.nodes = base.cluster->nodes();
  s.gpus = base.cluster->device_count();
  return s;
}

Yaml normalised(const Yaml& document, const Variant& base, const std::filesystem::path& directory) {
  Yaml question = document;
  Yaml& model = *question.find("model");
  model = with_absolute_files(std::move(model), directory);
  if (const std::int64_t tokens = taken_length(base)) say(model, "sequence_length", fmt::format("{}", tokens));
  if (Yaml* cluster = question.find("cluster")) make_cluster_absolute(*cluster, directory);
  Yaml& training = *question.find("training");
  say(training, "precision", std::string(pcg::to_text(base.training.precision)));
  say(training, "optimizer", pcg::name_of(base.training.optimizer));
  say(training, "framework", base.framework.name());
  make_files_absolute(training, directory);
  make_plans_absolute(question.find("plans"), directory);
  if (Yaml* capacity = question.find("capacity"); capacity != nullptr && capacity->is_map()) {
    make_plans_absolute(capacity->find("plans"), directory);
    if (Yaml* candidates = capacity->find("candidates"))
      for (Yaml& c : candidates->items)
        if (Yaml* cluster = c.is_map() ? c.find("cluster") : nullptr) make_cluster_absolute(*cluster, directory);
  }
  return question;
}

std::vector<base::Note> unsaid_note(const Variant& v) {
  std::vector<std::string> taken;
  if (!is_written(v, "precision")) taken.push_back(fmt::format("precision {}", pcg::to_text(v.training.precision)));
  if (const std::int64_t tokens = taken_length(v)) taken.push_back(fmt::format("sequences of {} tokens", tokens));
  if (!is_written(v, "optimizer")) taken.push_back(fmt::format("optimizer {}", pcg::name_of(v.training.optimizer)));
  if (v.framework.named_by == Framework::NamedBy::none)
    taken.push_back(fmt::format("framework {}, the practice that well-tuned frameworks share", v.framework.name()));
  if (taken.empty()) return {};
  return {
      {base::NoteKind::assumption, "unsaid", fmt::format("the scenario does not say, and these are taken: {}", fmt::join(taken, "; "))}};
}

std::vector<std::pair<pcg::Precision, double>> faster_precisions(const Variant& v) {
  constexpr double kWorthNoting = 1.2;
  const std::set<std::string> types = device_types(v.cluster->devices());
  std::vector<std::pair<pcg::Precision, double>> faster;
  for (const pcg::Precision p : {pcg::Precision::bf16, pcg::Precision::fp8, pcg::Precision::mxfp8, pcg::Precision::nvfp4}) {
    if (pcg::casts_products(p) && v.model->tokens_per_sample() == 0) continue;
    if (const double factor = speedup(types, p, v.training.precision); factor >= kWorthNoting) faster.emplace_back(p, factor);
  }
  return faster;
}

std::vector<base::Note> faster_precision_note(const Variant& v) {
  std::vector<std::string> faster;
  for (const auto& [precision, factor] : faster_precisions(v))
    faster.push_back(fmt::format("{} ({:.2g}x)", pcg::to_text(precision), factor));
  if (faster.empty()) return {};
  return {
      {base::NoteKind::detail, "faster-precision",
       fmt::format("the answer is for {}; these GPUs multiply faster in {}", pcg::to_text(v.training.precision), fmt::join(faster, ", "))}};
}

}  // namespace scenarios
