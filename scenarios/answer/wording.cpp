#include "scenarios/answer/wording.hpp"

#include <fmt/args.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "base/units.hpp"
#include "search/problem/search_result.hpp"

namespace scenarios {
namespace {

// A field of the text shows a value: a list with commas, a number as fmt's specification says, or
//   {:.1%}       a share in percent
//   {:time}      seconds, in a unit that suits them
//   {:GiB}       bytes
//   {:one|many}  the first text for 1, the second for any other whole number
//   {:# words}   nothing for 0, else the text with the number in place of #
struct Sentence {
  std::string_view code;
  base::NoteKind kind;
  std::string_view text;
};

const Sentence& sentence_of(const std::string& code) {
  using enum base::NoteKind;
  static constexpr Sentence kSentences[] = {
      // of a simulation
      {"activation-inputs-unused", caution,
       "activation_inputs: fp8 changes nothing, as no activation function of this model keeps its input"},
      {"assumed-links", assumption, "the speed of {} is assumed: the interval allows for half of it and twice as much"},
      {"constant-tokens", assumption,
       "all tokens are equal: products draw less power and keep their benchmark rate, which data of a real training does not leave them"},
      {"default-efficiencies", assumption, "{:.0%} of the kernels' time is by default efficiencies, nothing measured ({})"},
      {"dispatch-saves-nothing", caution,
       "dispatch {} saves nothing on the network: ranks that share experts are in one NVLink domain, where a token goes once to each rank"},
      {"dispatch-unused", caution, "dispatch {} changes nothing, because no tokens travel to experts{:| by all-to-all}"},
      {"expert-capacity-padded", caution,
       "the {} places of a sample at each expert are rounded up to {}, so that the ranks that share a sequence have equally many: experts "
       "and what brings their tokens are forecast with {:.0%} more of them"},
      {"expert-overlap-unused", caution, "overlap experts hides nothing, because no tokens travel to their experts"},
      {"extrapolated-kernels", caution, "{:.0%} of the kernels' time lies beyond the measurements that its models were fitted to ({})"},
      {"folded-devices", detail, "{} devices simulated as {}: the others do the same in the same place (exact)"},
      {"folded-micro-batches", detail, "{} micro-batches simulated as {}: the others repeat them (exact)"},
      {"group-crosses-domains", caution,
       "{0} groups of {1} ranks, {2} GPUs from the first to the last, are in several domains of {3} GPUs, so that they exchange what every "
       "layer needs over the network: groups within {3} GPUs stay inside one"},
      {"group-crosses-segments", caution,
       "{0} groups of {1} ranks are in several domains, so that they exchange what every layer needs over the network, although a domain "
       "of {2} GPUs holds a group: node.domain.segment: {3} keeps each inside one"},
      {"group-crosses-unevenly", caution,
       "{0} groups of {1} ranks are in several domains, so that they exchange what every layer needs over the network, although a domain "
       "of {2} GPUs holds a group: a size that divides {2} keeps each inside one"},
      {"host-times", detail, "host times of {}: fitted to measured iterations"},
      {"host-times-assumed", assumption, "host times of {}: an assumption"},
      {"host-times-partly-assumed", assumption, "host times of {}: partly an assumption"},
      {"host-update", assumption, "one CPU takes {:time} to update an offloaded parameter: recalled from ZeRO-Offload, not measured"},
      {"memory-of-allocator", detail,
       "free blocks that the framework's allocator keeps, {:GiB} more at the peak, do not count for whether a plan fits"},
      {"memory-of-context", detail, "memory has {:GiB} of a GPU for its context and the buffers of the communication library"},
      {"memory-peak-in-update", detail,
       "memory is fullest while the optimizer updates weights: activations are gone by then, its own temporaries count as the optimizer's"},
      {"misaligned-products", caution,
       "{:.0%} of the FLOPs of linear layers are in rows of no whole multiple of {} numbers ({}: {}): tensor cores take longer (an H200 2 "
       "to 6 times), which is not in the forecast; a padded size avoids it"},
      {"muon-shards", assumption,
       "Muon on shards of gradients, or on hosts: what it takes to bring matrices together, or hosts to multiply them, is not counted"},
      {"network-profile", detail, "network profile {}"},
      {"network-profile-partial", assumption, "network profile {} says nothing of {}: the wires' own latency and bandwidth count"},
      {"no-network-profile", assumption, "no network profile: collectives take the wires' latency and bandwidth alone"},
      {"no-traffic-between-stages", caution,
       "between_stages: signal sends one byte in place of each message between stages; the time is no forecast, but a bound for a network "
       "of unlimited bandwidth between stages"},
      {"one-update-newer", caution,
       "the pipeline stays full from one iteration to the next, and gradients are applied to weights that are one update newer"},
      {"overlap-unused", caution, "overlap tensor changes nothing, because no product has a gather before it or a reduce-scatter after it"},
      {"partial-link", caution,
       "a fault leaves {:.0%} of {}{:, and a part of # more}: libraries share bytes out as if it were whole, and all wait for it; "
       "without it (left: 0) they would take another way"},
      {"power-limit", assumption, "{} may draw {:g} of {:g} W: tensor cores run at {:.2f} of their clock, its cube root, an assumption"},
      {"recompute-unused", caution, "recompute: selective changes nothing, because no attention of this model keeps its scores"},
      {"recomputed-part-missing", caution, "recompute: {} changes nothing, because no layer of this model has such a part"},
      {"reduced-in-switch", assumption,
       "all-reduces are reduced in switches (NVLink SHARP, NCCL's NVLS) where that is quicker: NVIDIA's recipes switch it off, "
       "cluster.in_network: false"},
      {"slow-stage", caution,
       "stage {0} computes {1:.2f} times as long as the median stage, and the others wait for it {2:.0%} of the time: layers_per_stage "
       "gives it fewer layers"},
      {"sustained-assumed", assumption,
       "products keep {:g} of their benchmark rate in training: assumed, as no training on {} was measured"},
      {"sustained-missing", assumption, "products keep their benchmark rate in training: an assumption, {}'s profile has no sustained.{}"},
      {"uneven-groups", caution, "the holders of some weights do not divide into {} groups: all of them share these weights out"},
      {"zero-unused", caution, "zero {} changes nothing: there is one replica, so that no two devices hold a weight"},
      // of a search
      {"best-choices-simulated", search,
       "of {} choices of stage, micro-batch and recomputation the best that fit by their estimates were simulated: {}"},
      {"choices-not-tried", search,
       "not tried: offloading, moments in bf16, activation inputs in fp8, CUDA graphs, lean warm-ups, chosen parts of layers to recompute, "
       "and flexible and 2bw schedules"},
      {"cost-and-simulation", search, "the costs that the search adds up make the plan {:.4g} s, the simulation {:.4g} s ({:+.1%})"},
      {"graphs-evaluated", search, "{} rewritten graphs evaluated, for a device by itself"},
      {"grid-counts", search,
       "of {0} {0:plan|plans} of the grid{1:, # cannot be built}{2:, # do not fit into memory}{3:, # were left out as slower (by "
       "their bounds, or as one that recomputes less fits)}{4:, # were estimated}{5:, # were not evaluated}{7:; a local search estimated # "
       "more}; {6} of the best were simulated"},
      {"lean-warm-up", search,
       "the warm-up is lean, because the activations of a full one, as Megatron-LM and PyTorch have it, do not fit into memory; warm_up: "
       "full says what it takes"},
      {"long-edges", search,
       "{0} {0:tensor is|tensors are} read after the next layer: bringing {0:it|them} there {1:counts in the objective, but not in the "
       "choice of stages and strategies|is simulated, and not in the cost model}"},
      {"memory-limit-binds", search,
       "the memory limit binds: the strategies of these stages are {:proved|not proved} best under it; their costs are {:.1%} above those "
       "of the cheapest stages without a limit"},
      {"memory-limit-gap", search,
       "under {0} {0:objective|objectives} memory is the limit: the costs are at most {1:.2%} above the least possible"},
      {"memory-limit-proved", search, "under {0} {0:objective|objectives} memory is the limit: the choices are proved best"},
      {"memory-limit-unknown-gap", search,
       "under {0} {0:objective|objectives} memory is the limit: the costs are an unknown share above the least possible"},
      {"no-choice-fits", search, "of {} choices of stage, micro-batch and recomputation none fits"},
      {"one-chunk-interleaved", search,
       "the interleaved schedule with one chunk per device is 1f1b, and runs as such; chunks: 2 or more interleave"},
      {"operators-not-cut", search, "the search ended before operators were cut over all GPUs, without a pipeline"},
      {"pairs-evaluated", search, "{} layers; {} pairs of stages and micro-batches were evaluated, {} of them solved, each exactly"},
      {"pairs-unsolved", search, "the search ended before {0} {0:pair was|pairs were} solved"},
      {"planner-without-memory", search, "no plan of {}: needs {:GiB} of {:GiB}"},
      {"planner-without-plan", search, "no plan of {}: {}"},
      {"planners-lost", search, "planners whose worker process was ended, twice: {}"},
      {"planners-not-asked", search, "{0} {0:planner was|planners were} not asked: the time was up"},
      {"planners-out-of-candidates", search, "searches that their share of the candidates ended: {}"},
      {"planners-out-of-time", search, "searches that their share of the time ended: {}"},
      {"planners-times", search, "{}"},
      {"proposals-accepted", search,
       "{} of {} proposals to place one of {} operators otherwise were accepted, in {} walks; {} movements were asked about"},
      {"rules-asked", search,
       "{} of the {} rules of {} are asked{:, # that have layout operators are not}{:, # that apply to no graph are not}{:, # that only "
       "enlarge are not}{:, # that only exchange parameters are not}"},
      {"segments-mapped", search,
       "{} segments, {} of them unlike; {} rewritten graphs evaluated; mapped under {} objectives of gradients and memory; stages cut for "
       "{} numbers of micro-batches"},
      {"stages-mapped", search,
       "stages cut and mapped for {} choices of micro-batches, recomputation and shared updates; {} kinds of operators"},
      {"strategies-chosen", search,
       "{} operators of {} kinds can run in {} strategies; of those of each kind that cost least by themselves, {} at most, the cheapest "
       "together were chosen {:exactly|but for tables that were too large}, for {} objectives of gradients"},
      {"tie", search, "a tie: {} plans are within {:.0%} of each other, and this is the plainest; the quickest is {}, {:time}"},
      {"wishes", search, "looked at plans with {} alone, as the scenario wishes"},
  };
  const auto* at = std::ranges::find(kSentences, code, &Sentence::code);
  BASE_CHECK(at != std::end(kSentences), "the fact {} has no sentence", code);
  return *at;
}

std::string shown(std::int64_t number, std::string_view how) {
  if (const std::size_t bar = how.find('|'); bar != std::string::npos)
    return std::string(number == 1 ? how.substr(0, bar) : how.substr(bar + 1));
  const std::size_t hash = how.find('#');
  if (hash == std::string::npos) return fmt::format("{}", number);
  return number == 0 ? "" : fmt::format("{}{}{}", how.substr(0, hash), number, how.substr(hash + 1));
}
std::string shown(double number, std::string_view how) {
  if (how == "time") return base::to_text(base::Seconds(number));
  if (how == "GiB") return search::memory_text(base::Bytes(number));
  if (how.ends_with('%')) return fmt::format(fmt::runtime(fmt::format("{{:{}f}} %", how.substr(0, how.size() - 1))), 100 * number);
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", how)), number);
}
std::string shown(const std::string& name, std::string_view) { return name; }
std::string shown(const std::vector<std::string>& names, std::string_view) { return fmt::format("{}", fmt::join(names, ", ")); }
std::string shown(const base::Fact::Times& times, std::string_view) {
  std::vector<std::string> parts;
  for (const auto& [name, seconds] : times) parts.push_back(fmt::format("{} {:.4g} s", name, seconds));
  return shown(parts, "");
}

}  // namespace
}  // namespace scenarios

template <>
struct fmt::formatter<base::Fact::Value> {
  std::string_view how;

  constexpr auto parse(format_parse_context& in) {
    const auto* end = std::find(in.begin(), in.end(), '}');
    how = {in.begin(), static_cast<std::size_t>(end - in.begin())};
    return end;
  }
  auto format(const base::Fact::Value& v, format_context& out) const {
    return std::visit([&](const auto& value) { return fmt::format_to(out.out(), "{}", scenarios::shown(value, how)); }, v);
  }
};

namespace scenarios {

base::Note note_of(const base::Fact& fact) {
  const Sentence& sentence = sentence_of(fact.code);
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const base::Fact::Value& value : fact.values) values.push_back(value);
  return {sentence.kind, fact.code, fmt::vformat(sentence.text, values)};
}

}  // namespace scenarios
