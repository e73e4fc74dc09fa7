#pragma once
// A network profile: the times and bandwidths that a communication library reaches on links. Wires come from the cluster (bandwidth,
// latency); a profile adds what the library costs on top: the latency of a call and of each hop, and the share of a link's bandwidth that
// it reaches, for each of its protocols. Shares and overheads, not rates: with a link of four times the bandwidth they still say something.

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "profiles/kinds.hpp"

namespace profiles {

// NCCL's: flags inside 8-byte words (low latency, half of the bandwidth at best), inside 128-byte lines, and separate flags (full
// bandwidth).
enum class Protocol { ll, ll128, simple };
inline constexpr std::array kProtocols = {Protocol::ll, Protocol::ll128, Protocol::simple};
[[nodiscard]] std::string_view to_text(Protocol p);

struct NetworkHop {
  base::Seconds latency;  // of one message over the link, beyond the wires' own
  double efficiency = 1;  // share of the link's bandwidth, above 0
  std::string source;     // where the numbers are from
  // bulk_forwarded alone: the least time of its kernels on a rank, however quick the wires are, for each row and rank that the row may
  // be sent to, and for each row that is read to be summed up.
  base::Seconds sent_row, summed_row;
};

struct NetworkCall {
  std::map<Protocol, base::Seconds> base;  // once per call: launch, first and last copy; absent: 0
  double local = 0;                        // what a rank copies besides what it sends takes as long as this many sends of its part
  std::string source;                      // where the numbers are from
};

struct NetworkProfile {
  std::string name;
  bool relays = false;  // GPUs pass messages on between others of their node where that is wider than the route through the host
  // By link type ("nvlink"), algorithm, protocol. A link type that is absent is unknown: its wires count, nothing else. An algorithm that
  // a known type lacks is one that the library does not use there.
  std::map<std::string, std::map<Algorithm, std::map<Protocol, NetworkHop>>, std::less<>> links;
  std::map<CollectiveKind, NetworkCall> calls;

  // Returns the cost of a link type for an algorithm, or nullptr: the link type is unknown (see `knows`), or the library does not use it.
  // Entries that bulk_forwarded lacks are those of forwarded, and those that in_switch_tree lacks are those of in_switch.
  [[nodiscard]] const NetworkHop* find(std::string_view link_type, Algorithm a, Protocol p) const;
  [[nodiscard]] bool knows(std::string_view link_type) const { return links.contains(link_type); }
};

[[nodiscard]] std::vector<std::string> network_names();  // of profiles/networks, sorted
// Returns one that ships, or that of a file (profiles/profile_files.hpp).
// Throws: base::InputError when the name is unknown (with the nearest one), or with every problem of the file.
// Cost: O(log n); read once.
[[nodiscard]] const NetworkProfile& network_profile(std::string_view name);
// Returns the text of the file of one that ships.
// Throws: as network_profile.
[[nodiscard]] std::string_view network_text(std::string_view name);
// Reads the text form (docs/formats/profiles.md).
// Throws: base::InputError with every problem found.
[[nodiscard]] NetworkProfile load_network_profile(const base::Yaml& document);
// Returns the text form, numbers rounded to three digits; load_network_profile reads it back.
[[nodiscard]] std::string to_yaml(const NetworkProfile& profile);

}  // namespace profiles
