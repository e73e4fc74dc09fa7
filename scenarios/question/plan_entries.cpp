#include "scenarios/question/plan_entries.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "base/yaml/reader.hpp"
#include "pcg/plan/plan_text.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;
using search::Planner;

using PlanKind = std::variant<PlannerEntry, FileEntry>;

// What other tools call plans.
struct PlanWord {
  std::string_view word, way;
};
constexpr PlanWord kPlanWords[] = {
    {"dp", "data-parallel"},           {"ddp", "data-parallel"},
    {"zero1", "fsdp: {stage: zero1}"}, {"zero2", "fsdp: {stage: zero2}"},
    {"zero3", "fsdp: {stage: zero3}"}, {"deepspeed", "fsdp: {stage: zero3}, and framework: deepspeed in training"}};

// Whether a word is an option of megatron's grid: those have the words of the field.
bool is_degree(const std::string& word) {
  return std::ranges::any_of(search::find_planner("megatron")->options, [&](const search::Option& o) { return o.key == word; });
}

void refuse_kind(const std::string& word, const base::Mark& mark, const std::string& path, Diagnostics& sink) {
  std::vector<std::string> known = search::planner_kinds();
  known.emplace_back("file");
  const auto way = std::ranges::find(kPlanWords, word, &PlanWord::word);
  sink.add(mark, path, fmt::format("unknown plan \"{}\"", word),
           way != std::end(kPlanWords) ? fmt::format("write {}", way->way)
           : is_degree(word)           ? fmt::format("it is an option: write megatron: {{{}: ...}}", word)
                                       : base::suggest(word, known));
}

// The words that choose among planners of one kind.
std::vector<std::string> forms_of(const std::string& kind) {
  std::vector<std::string> forms;
  for (const Planner& p : search::planners())
    if (p.kind == kind && !p.form.empty()) forms.push_back(p.form);
  return forms;
}

// "write megatron: search, or megatron: {tensor: 2, pipeline: 1}".
std::string ways_to_write(const Planner& plain) {
  std::vector<std::string> ways = forms_of(plain.kind);
  ways.push_back(plain.example);
  for (std::string& way : ways) way = plain.kind + ": " + way;
  return fmt::format("write {}", fmt::join(ways, ", or "));
}

// Reading the plan now shows what is wrong with it before anything runs.
FileEntry read_file(const Yaml& value, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  const auto text = base::as_text(value, path, sink);
  if (!text) return {};
  FileEntry entry{.plan = nullptr, .mark = value.mark};
  try {
    entry.plan = std::make_shared<const pcg::Plan>(pcg::read_plan(base::read_yaml(value, path, directory)));
  } catch (const base::InputError& e) { sink.add_all(e); }
  return entry;
}

std::optional<PlanKind> read_word(const Yaml& word, const std::string& path, Diagnostics& sink) {
  const Planner* planner = search::find_planner(word.scalar);
  if (word.scalar == "file") {
    sink.add(word.mark, path, "file needs the name of a saved plan", "write {file: my.plan.yaml}");
  } else if (planner == nullptr) {
    refuse_kind(word.scalar, word.mark, path, sink);
  } else if (!planner->needs.empty()) {
    sink.add(word.mark, path, fmt::format("{} needs its {}", planner->kind, planner->needs), ways_to_write(*planner));
  } else {
    return PlannerEntry{planner, search::OptionValues(planner->options)};
  }
  return std::nullopt;
}

PlanKind read_options(const Planner& planner, const Planner& plain, MapReader in, const std::filesystem::path& directory) {
  if (!planner.form.empty() && in.boolean(planner.form) == false)
    in.complain(planner.form, fmt::format("the {} are missing", plain.needs),
                fmt::format("write {}: true, or the {} instead", planner.form, plain.needs));
  search::OptionValues values = search::read_options(in, planner.options, directory);
  if (planner.contradiction)
    if (const auto problem = planner.contradiction(values)) in.complain(problem->key, problem->message, problem->hint);
  in.finish();
  return PlannerEntry{&planner, std::move(values)};
}

// `plain`: the kind's plain form. Another form is named by a word in place of the options, or by a key among them.
std::optional<PlanKind> read_planner(const Planner& plain, const Yaml& value, const std::string& path,
                                     const std::filesystem::path& directory, Diagnostics& sink) {
  const std::vector<std::string> forms = forms_of(plain.kind);
  if (value.is_scalar() && !forms.empty()) {
    if (const Planner* planner = search::find_planner(plain.kind, value.scalar))
      return PlannerEntry{planner, search::OptionValues(planner->options)};
    sink.add(value.mark, path,
             fmt::format("found \"{}\", expected a map of {} or the word {}", value.scalar, plain.needs, fmt::join(forms, " or ")),
             ways_to_write(plain));
    return std::nullopt;
  }
  if (value.is_scalar())
    for (const search::Option& o : plain.options)
      if (const auto* c = std::get_if<search::Choice>(&o.type);
          c != nullptr && std::ranges::find(c->words, value.scalar) != c->words.end()) {
        sink.add(value.mark, path, fmt::format("expected a map of options, found \"{}\"", value.scalar),
                 fmt::format("write {}: {{{}: {}}}", plain.kind, o.key, value.scalar));
        return std::nullopt;
      }
  if (value.is_scalar() && !value.is_null()) {
    std::vector<std::string> keys;
    for (const search::Option& o : plain.options) keys.push_back(o.key);
    sink.add(value.mark, path, fmt::format("expected a map of options, found \"{}\"", value.scalar), base::suggest(value.scalar, keys));
    return std::nullopt;
  }
  const Yaml none = Yaml::make_map(value.mark);
  const Yaml& options = value.is_null() ? none : value;
  const auto form = std::ranges::find_if(forms, [&](const std::string& f) { return options.is_map() && options.find(f) != nullptr; });
  const Planner& planner = form != forms.end() ? *search::find_planner(plain.kind, *form) : plain;
  return read_options(planner, plain, MapReader(options, path, sink), directory);
}

// `entry`: the key that names a kind, and its value. `path` is the list item's.
std::optional<PlanKind> read_kind(const Yaml::Entry& entry, const std::string& path, const std::filesystem::path& directory,
                                  Diagnostics& sink) {
  const std::string value_path = path + "." + entry.key;
  if (entry.key == "file") return read_file(entry.value, value_path, directory, sink);
  if (const Planner* plain = search::find_planner(entry.key)) return read_planner(*plain, entry.value, value_path, directory, sink);
  refuse_kind(entry.key, entry.key_mark, path, sink);
  return std::nullopt;
}

const std::vector<std::string> kBesideKind = {"name", "framework"};

// A map has one kind, and a name and a framework if wanted.
std::optional<PlanEntry> read_map(const Yaml& item, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  const auto is_kind = [](const Yaml::Entry& e) { return e.key == "file" || search::find_planner(e.key) != nullptr; };
  const auto known = std::ranges::find_if(item.entries, is_kind);
  const Yaml::Entry* kind = known != item.entries.end() ? &*known : nullptr;
  std::optional<std::string> name;
  std::optional<Framework> framework;
  for (const Yaml::Entry& e : item.entries) {
    if (e.key == "name") {
      name = base::as_text(e.value, path + ".name", sink).value_or("-");
      if (!is_name(*name)) sink.add(e.value.mark, path + ".name", std::string(kNoName), "write e.g. ours");
    } else if (e.key == "framework")
      framework.emplace(read_framework(e.value, path + ".framework", directory, sink)).named_by = Framework::NamedBy::entry;
    else if (kind == nullptr || kind == &e) kind = &e;
    else if (is_kind(e)) sink.add(e.key_mark, path, fmt::format("one entry asks for {} and for {}", kind->key, e.key), "write two entries");
    else if (const std::string meant = base::nearest_name(e.key, kBesideKind); !meant.empty())
      sink.add(e.key_mark, path, fmt::format("unknown key \"{}\"", e.key), fmt::format("did you mean \"{}\"?", meant));
    else
      sink.add(e.key_mark, path, fmt::format("\"{}\" is beside {}, not among its options", e.key, kind->key),
               fmt::format("indent it below {0}, or write {0}: {{{1}: ...}}", kind->key, e.key));
  }
  if (kind == nullptr) {
    sink.add(item.mark, path, "the entry names no plan", "write e.g. {megatron: {tensor: 2}, name: ours}");
    return std::nullopt;
  }
  auto read = read_kind(*kind, path, directory, sink);
  if (!read) return std::nullopt;
  return PlanEntry{name.value_or(kind->key), item, base::flow_text(item), std::move(*read), std::move(framework)};
}

std::optional<PlanEntry> read_entry(const Yaml& item, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  if (item.is_map()) return read_map(item, path, directory, sink);
  if (!item.is_scalar()) {
    sink.add(item.mark, path, "expected the name of a plan or a map", "write e.g. data-parallel, or megatron: {tensor: 2}");
    return std::nullopt;
  }
  auto kind = read_word(item, path, sink);
  return kind ? std::optional(PlanEntry{item.scalar, item, item.scalar, std::move(*kind), {}}) : std::nullopt;
}

// A repeated kind becomes "megatron#2"; a name that the user wrote twice is a mistake only if it hides a result, so it is numbered too.
void make_unique(std::vector<PlanEntry>& entries) {
  std::set<std::string> taken;
  for (PlanEntry& e : entries) {
    const std::string wish = e.name;
    for (int n = 2; !taken.insert(e.name).second; ++n) e.name = fmt::format("{}#{}", wish, n);
  }
}

// The entry as a map whose kind has a map of options: {megatron: search} is {megatron: {search: true}}. Null: a saved plan, which has none.
Yaml* spell_out_options(Yaml& item) {
  if (item.is_scalar()) {
    Yaml map = Yaml::make_map(item.mark);
    map.set(item.scalar, Yaml::make_map(item.mark), item.mark);
    item = std::move(map);
  }
  for (Yaml::Entry& e : item.entries) {
    if (e.key == "name" || e.key == "framework") continue;
    if (e.key == "file") return nullptr;
    if (e.value.is_map()) return &e.value;
    Yaml options = Yaml::make_map(e.value.mark);
    if (e.value.is_scalar()) options.set(e.value.scalar, Yaml::make_scalar("true", e.value.mark), e.value.mark);
    e.value = std::move(options);
    return &e.value;
  }
  return nullptr;
}

}  // namespace

std::optional<PlanChange> plan_change(const std::vector<PlanEntry>& plans, std::string_view target) {
  if (!target.starts_with(kPlansPath)) return std::nullopt;
  const std::string_view rest = target.substr(kPlansPath.size());
  std::optional<PlanChange> found;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const std::string& name = plans[p].name;
    const bool names = rest.size() > name.size() + 1 && rest.starts_with(name) && rest[name.size()] == '.';
    if (names && (!found || name.size() > plans[found->plan].name.size())) found = PlanChange{p, std::string(rest.substr(name.size() + 1))};
  }
  return found;
}

PlanEntry changed_entry(const PlanEntry& entry, std::string_view key, const Yaml& value, const std::string& place,
                        const std::filesystem::path& directory, Diagnostics& sink) {
  const std::size_t before = sink.size();
  Yaml item = entry.section;
  Yaml* options = spell_out_options(item);
  if (key == "framework" || key.starts_with("framework.")) base::patch_yaml(item, key, value, sink, place, base::UnknownKey::add);
  else if (options != nullptr) base::patch_yaml(*options, key, value, sink, place, base::UnknownKey::add);
  else sink.add(value.mark, place, "a saved plan has no options to change", "ask a planner for the plan");
  if (sink.size() > before) return entry;
  std::optional<PlanEntry> changed = read_entry(item, place, directory, sink);
  if (!changed) return entry;
  changed->name = entry.name;
  return *std::move(changed);
}

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
