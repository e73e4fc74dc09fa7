#include "reports/html/page_data.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "reports/answer.hpp"
#include "reports/question/question.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// Shares of the file, in bytes; 0.8 MB are the page's own and its plain table's. Results are what every table is made of. Timelines have
// all that the others leave, at least 1.4 MB.
constexpr std::size_t kDataBytes = 4'100'000, kResultsBytes = 1'700'000, kMemoryBytes = 300'000, kGraphBytes = 500'000,
                      kNotesBytes = 150'000, kClusterBytes = 50'000;

// Bytes that several parts have between them: what one leaves over goes to those after it.
class Share {
 public:
  Share(std::size_t bytes, std::size_t parts) : bytes_(bytes), parts_(parts) {}
  [[nodiscard]] std::size_t of_next() const { return bytes_ / std::max<std::size_t>(1, parts_); }
  Json spent(Json part) {
    bytes_ -= std::min(bytes_, part.dump().size());
    --parts_;
    return part;
  }

 private:
  std::size_t bytes_, parts_;
};

// The parts that a reader misses least come first. Base runs keep it longer: the page opens on them.
constexpr std::array<std::string_view, 11> kDispensable = {
    "against_data_parallel", "runners_up",          "rewrites",    "links", "notes", "critical_path", "behind", "exposed_communication_s",
    "compute_basis_s",       "communication_bytes", "busiest_link"};

void drop(Json& result, std::string_view key, bool of_base) {
  for (Json& run : result["runs"])
    if ((run["variant"] == scenarios::kBaseName) == of_base) run.erase(std::string(key));
}

// Format 2, without what has no room.
Json fitted(Json result, std::size_t most_bytes, Json& left_out) {
  const std::size_t all = result["runs"].size();
  for (const char* shown_of_base_alone : {"critical_path", "links"}) drop(result, shown_of_base_alone, false);
  std::string dropped;
  for (const bool of_base : {false, true})
    for (const std::string_view key : kDispensable) {
      if (result.dump().size() <= most_bytes) break;
      drop(result, key, of_base);
      dropped += fmt::format("{}{}{}", dropped.empty() ? "" : ", ", key, of_base ? " of base runs" : "");
    }
  if (!dropped.empty())
    left_out.push_back(fmt::format("To keep the file small, {} runs are here without some keys of --json ({}).", all, dropped));
  for (std::size_t bytes = result.dump().size(); bytes > most_bytes && result["runs"].size() > 1; bytes = result.dump().size()) {
    const std::size_t kept = std::clamp<std::size_t>(result["runs"].size() * most_bytes / bytes, 1, result["runs"].size() - 1);
    result["runs"].erase(result["runs"].begin() + static_cast<std::ptrdiff_t>(kept), result["runs"].end());
  }
  if (const std::size_t kept = result["runs"].size(); kept < all)
    left_out.push_back(fmt::format("To keep the file small, the last {} of {} runs are left out; --json has all.", all - kept, all));
  return result;
}

// [{"kind", "text", "runs": [index]}]: each sentence once, the most important first.
Json notes_of(const scenarios::ScenarioResult& result, std::size_t most_bytes, Json& left_out) {
  std::vector<std::pair<base::Note, Json>> notes;
  std::map<std::string, std::size_t> known;
  for (std::size_t r = 0; r < result.runs.size(); ++r)
    for (const base::Note& note : scenarios::run_notes(result.runs[r], 0)) {
      const auto [at, added] = known.emplace(fmt::format("{}{}", static_cast<int>(note.kind), note.text), notes.size());
      if (added) notes.emplace_back(note, Json::array());
      Json& runs = notes[at->second].second;
      if (runs.empty() || runs.back() != r) runs.push_back(r);
    }
  std::ranges::stable_sort(notes, {}, [](const auto& n) { return n.first.kind; });
  Json j = Json::array();
  std::size_t bytes = 0;
  for (const auto& [note, runs] : notes) {
    Json entry{{"kind", kind_word(note.kind)}, {"text", note.text}, {"runs", runs}};
    bytes += entry.dump().size() + 1;
    if (bytes <= most_bytes) j.push_back(std::move(entry));
  }
  if (j.size() < notes.size())
    left_out.push_back(fmt::format("To keep the file small, {} of {} notes are left out; --notes all prints them.", notes.size() - j.size(),
                                   notes.size()));
  return j;
}

bool has_details(const scenarios::Run& r) { return r.is_of_base() && r.made && r.simulation; }

}  // namespace

Json page_data(std::span<const ReportedScenario> reported) {
  Json data{{"results", Json::array()}, {"details", Json::array()}};
  std::size_t detailed = 0;
  for (const ReportedScenario& s : reported) detailed += static_cast<std::size_t>(std::ranges::count_if(s.result->runs, has_details));
  Share results(kResultsBytes, reported.size()), notes(kNotesBytes, reported.size()), clusters(kClusterBytes, reported.size());
  Share memory(kMemoryBytes, detailed), graphs(kGraphBytes, detailed);
  for (const ReportedScenario& s : reported) {
    Json details{{"subject", subject_text(s.result->subject)},
                 {"cluster", nullptr},
                 {"notes", Json::array()},
                 {"runs", Json::array()},
                 {"left_out", Json::array()}};
    data["results"].push_back(results.spent(fitted(Json::parse(json(*s.result)), results.of_next(), details["left_out"])));
    details["notes"] = notes.spent(notes_of(*s.result, notes.of_next(), details["left_out"]));
    if (Json cluster = s.cluster != nullptr ? cluster_data(*s.cluster) : Json(); cluster.dump().size() <= clusters.of_next())
      details["cluster"] = clusters.spent(std::move(cluster));
    else details["left_out"].push_back("The cluster has too many parts to be drawn here; show cluster --dot draws it.");
    for (std::size_t r = 0; r < s.result->runs.size(); ++r) {
      const scenarios::Run& run = s.result->runs[r];
      if (!has_details(run)) continue;
      details["runs"].push_back({{"run", r},
                                 {"timeline", nullptr},
                                 {"memory", memory.spent(memory_data(run, memory.of_next()))},
                                 {"graph", graphs.spent(graph_data(*run.made, graphs.of_next()))}});
    }
    data["details"].push_back(std::move(details));
  }
  Share timelines(kDataBytes - std::min(data.dump().size(), kDataBytes), detailed);
  for (std::size_t s = 0; s < reported.size(); ++s)
    for (Json& details : data["details"][s]["runs"]) {
      const scenarios::Run& run = reported[s].result->runs[details["run"].get<std::size_t>()];
      details["timeline"] = timelines.spent(timeline_data(run, timelines.of_next()));
    }
  return data;
}

}  // namespace reports
