#include "scenarios/plan_entries.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "pcg/plan/plan.hpp"
#include "pcg/plan/plan_read.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

const std::vector<std::string> kKinds = {"data-parallel", "megatron", "fsdp", "file"};

// Planners that the format knows and this version does not have.
const std::vector<std::string> kLater = {"expert-dlrm",   "unity",     "alpa",  "uniap",    "flexflow",
                                         "taso+flexflow", "galvatron", "pp-dp", "inter-op", "intra-op"};

bool is_later(const std::string& word) { return std::ranges::find(kLater, word) != kLater.end(); }

// What a reader may have meant by an unknown word: of everything that the format knows.
std::string suggestion(const std::string& word) {
  std::vector<std::string> known = kKinds;
  known.insert(known.end(), kLater.begin(), kLater.end());
  return base::suggest(word, known);
}

void refuse_kind(const std::string& word, const base::Mark& mark, const std::string& path, Diagnostics& sink) {
  if (is_later(word))
    sink.add(mark, path, fmt::format("this version does not have the planner {} yet", word),
             "this version has data-parallel, megatron, fsdp and file");
  else sink.add(mark, path, fmt::format("unknown plan \"{}\"", word), suggestion(word));
}

pcg::Recompute read_recompute(MapReader& in) {
  return static_cast<pcg::Recompute>(in.choice("recompute", pcg::recompute_names()).value_or(0));
}

int read_degree(MapReader& in, std::string_view key, int otherwise) {
  return static_cast<int>(in.integer(key, 1, 1 << 24).value_or(otherwise));
}

void read_schedule(MapReader& in, search::MegatronConfig& c) {
  static const std::vector<std::string> names = {"gpipe", "1f1b", "interleaved", "zb-h1", "2bw"};
  constexpr std::array values = {pcg::ScheduleKind::gpipe, pcg::ScheduleKind::one_f_one_b, pcg::ScheduleKind::interleaved};
  const auto schedule = in.choice("schedule", names);
  if (schedule && *schedule >= values.size()) {
    in.complain("schedule", fmt::format("this version does not have the schedule {} yet", names[*schedule]),
                "this version has gpipe, 1f1b and interleaved");
    return;
  }
  if (schedule) c.schedule = values[*schedule];
  c.chunks = read_degree(in, "chunks", 1);
  if (!in.has("schedule") && c.chunks > 1) c.schedule = pcg::ScheduleKind::interleaved;
  if (in.has("schedule") && c.chunks > 1 && c.schedule != pcg::ScheduleKind::interleaved)
    in.complain("chunks", "only the interleaved schedule has more than one chunk per device", "write schedule: interleaved");
}

MegatronEntry read_megatron(MapReader in) {
  search::MegatronConfig c;
  c.tensor = read_degree(in, "tensor", 1);
  c.pipeline = read_degree(in, "pipeline", 1);
  c.data = read_degree(in, "data", 0);
  c.context = read_degree(in, "context", 1);
  c.expert = read_degree(in, "expert", 1);
  c.micro_batch = in.integer("micro_batch", 1).value_or(0);
  read_schedule(in, c);
  c.sequence_parallel = in.boolean("sequence_parallel").value_or(false);
  c.recompute = read_recompute(in);
  c.zero = static_cast<int>(in.integer("zero", 0, 3).value_or(0));
  in.finish();
  return {c};
}

MegatronSearchEntry read_megatron_search(MapReader in) {
  search::MegatronSearchConfig c;
  if (in.boolean("search") == false) in.complain("search", "the degrees are missing", "write search: true, or the degrees instead");
  if (const auto budget = in.seconds("budget")) c.budget = *budget;
  c.simulate_best = static_cast<int>(in.integer("simulate_best", 1, 1000).value_or(c.simulate_best));
  in.finish();
  return {c};
}

FsdpEntry read_fsdp(MapReader in) {
  static const std::vector<std::string> stages = {"zero1", "zero2", "zero3"};
  search::FsdpConfig c;
  if (const auto stage = in.choice("stage", stages)) c.stage = static_cast<int>(*stage) + 1;
  c.recompute = read_recompute(in);
  c.micro_batch = in.integer("micro_batch", 1).value_or(0);
  in.finish();
  return {c};
}

// Reading the plan now shows what is wrong with it before anything runs.
FileEntry read_file(const Yaml& value, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  const auto text = base::as_text(value, path, sink);
  if (!text) return {};
  const std::filesystem::path file = directory / *text;
  try {
    (void)pcg::read_plan(base::read_yaml(file));
  } catch (const base::InputError& e) { sink.add_all(e); }
  return {file};
}

std::optional<PlanKind> read_word(const Yaml& word, const std::string& path, Diagnostics& sink) {
  if (word.scalar == "data-parallel") return DataParallelEntry{};
  if (word.scalar == "fsdp") return FsdpEntry{};
  if (word.scalar == "megatron")
    sink.add(word.mark, path, "megatron needs its degrees", "write megatron: search, or megatron: {tensor: 2, pipeline: 1}");
  else if (word.scalar == "file") sink.add(word.mark, path, "file needs the name of a saved plan", "write {file: my.plan.yaml}");
  else refuse_kind(word.scalar, word.mark, path, sink);
  return std::nullopt;
}

std::optional<PlanKind> read_options(const std::string& kind, const Yaml& value, const std::string& path,
                                     const std::filesystem::path& directory, Diagnostics& sink) {
  const Yaml none = Yaml::make_map(value.mark);
  const Yaml& options = value.is_null() ? none : value;
  if (kind == "file") return read_file(value, path, directory, sink);
  if (kind == "megatron" && value.is_scalar()) {
    if (value.scalar == "search") return MegatronSearchEntry{};
    sink.add(value.mark, path, fmt::format("found \"{}\", expected a map of degrees or the word search", value.scalar),
             "write megatron: search, or megatron: {tensor: 2}");
    return std::nullopt;
  }
  if (kind == "megatron" && options.find("search") != nullptr) return read_megatron_search(MapReader(options, path, sink));
  if (kind == "megatron") return read_megatron(MapReader(options, path, sink));
  if (kind == "fsdp") return read_fsdp(MapReader(options, path, sink));
  MapReader(options, path, sink).finish();
  return DataParallelEntry{};
}

std::optional<PlanEntry> read_entry(const Yaml& item, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  PlanEntry entry;
  entry.mark = item.mark;
  std::optional<PlanKind> kind;
  if (item.is_scalar()) {
    entry.name = item.scalar;
    kind = read_word(item, path, sink);
  } else if (item.is_map()) {
    const Yaml::Entry* planner = nullptr;
    bool named = false;
    for (const Yaml::Entry& e : item.entries) {
      if (e.key == "name") {
        named = true;
        entry.name = base::as_text(e.value, path + ".name", sink).value_or("");
      } else if (planner != nullptr) {
        sink.add(e.key_mark, path, fmt::format("one entry asks for {} and for {}", planner->key, e.key), "write two entries");
      } else {
        planner = &e;
      }
    }
    if (planner == nullptr) {
      sink.add(item.mark, path, "the entry names no plan", "write e.g. {megatron: {tensor: 2}, name: ours}");
      return std::nullopt;
    }
    if (!named) entry.name = planner->key;
    if (std::ranges::find(kKinds, planner->key) == kKinds.end()) refuse_kind(planner->key, planner->key_mark, path, sink);
    else kind = read_options(planner->key, planner->value, path + "." + planner->key, directory, sink);
  } else {
    sink.add(item.mark, path, "expected the name of a plan or a map", "write e.g. data-parallel, or megatron: {tensor: 2}");
  }
  if (!kind) return std::nullopt;
  entry.kind = std::move(*kind);
  return entry;
}

// A repeated kind becomes "megatron#2"; a name that the user wrote twice is a mistake only if it hides a result, so it is numbered too.
void make_unique(std::vector<PlanEntry>& entries) {
  std::set<std::string> taken;
  for (PlanEntry& e : entries) {
    const std::string wish = e.name;
    for (int n = 2; !taken.insert(e.name).second; ++n) e.name = fmt::format("{}#{}", wish, n);
  }
}

}  // namespace

std::vector<PlanEntry> read_plan_entries(const Yaml& list, const std::string& path, const std::filesystem::path& directory,
                                         Diagnostics& sink) {
  std::vector<PlanEntry> entries;
  if (!list.is_sequence() || list.items.empty()) {
    sink.add(list.mark, path, "expected a list of plans", "write e.g. plans: [data-parallel]");
    return entries;
  }
  for (std::size_t i = 0; i < list.items.size(); ++i)
    if (auto entry = read_entry(list.items[i], fmt::format("{}[{}]", path, i), directory, sink)) entries.push_back(std::move(*entry));
  make_unique(entries);
  return entries;
}

}  // namespace scenarios
