#include "topology/imports/smi_matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace topology::imports {
namespace {

using Groups = std::vector<int>;  // one per device

void join(Groups& groups, std::size_t a, std::size_t b) {
  const int from = groups[b], to = groups[a];
  if (from != to) std::ranges::replace(groups, from, to);
}

// Devices at most `limit` apart, as far as the matrix shows it.
Groups groups_within(const SmiMatrix& m, Distance limit) {
  Groups groups;
  for (std::size_t i = 0; i < m.devices.size(); ++i) groups.push_back(static_cast<int>(i));
  for (std::size_t a = 0; a < m.devices.size(); ++a)
    for (std::size_t b = a + 1; b < m.devices.size(); ++b)
      if (m.at(a, b).distance <= limit) join(groups, a, b);
  return groups;
}

// Pairs that third devices put nearer than the matrix says: at most one per level, the first.
void find_contradictions(const SmiMatrix& m, std::vector<std::string>& problems) {
  for (const auto limit : {Distance::pix, Distance::pxb, Distance::phb, Distance::node}) {
    const auto groups = groups_within(m, limit);
    for (std::size_t a = 0; a < m.devices.size(); ++a) {
      for (std::size_t b = a + 1; b < m.devices.size(); ++b) {
        const auto distance = m.at(a, b).distance;
        if (groups[a] != groups[b] || distance <= limit || distance == Distance::unknown) continue;
        problems.push_back(fmt::format("{} and {} are {} apart, but both are {} or nearer to others between them", m.devices[a].name,
                                       m.devices[b].name, to_text(distance), to_text(limit)));
        return;
      }
    }
  }
}

// Joins groups with devices of no known NUMA node, unless the matrix says of any pair that they are apart. A group's number is that of one
// of its devices.
bool join_unless_separated(const SmiMatrix& m, Groups& cpu) {
  const auto n = cpu.size();
  std::vector<std::vector<bool>> apart(n, std::vector<bool>(n, false));  // of groups
  const auto group = [&](std::size_t device) { return static_cast<std::size_t>(cpu[device]); };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      if (m.at(a, b).distance != Distance::unknown) apart[group(a)][group(b)] = true;
  bool joined = false;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      const auto to = group(a), from = group(b);
      if (to == from || m.at(a, b).distance != Distance::unknown || apart[to][from] || (m.devices[a].numa && m.devices[b].numa)) continue;
      join(cpu, a, b);
      for (std::size_t other = 0; other < n; ++other) {
        apart[to][other] = apart[to][other] || apart[from][other];
        apart[other][to] = apart[other][to] || apart[other][from];
      }
      joined = true;
    }
  }
  return joined;
}

void number_from_zero(Groups& groups) {
  std::map<int, int> numbers;
  for (auto& g : groups) g = numbers.emplace(g, static_cast<int>(numbers.size())).first->second;
}

}  // namespace

SmiPlaces place_devices(const SmiMatrix& m) {
  SmiPlaces places;
  places.pix = groups_within(m, Distance::pix);
  places.pxb = groups_within(m, Distance::pxb);
  places.cpu = groups_within(m, Distance::node);
  find_contradictions(m, places.problems);
  for (std::size_t a = 0; a < m.devices.size(); ++a)
    for (std::size_t b = a + 1; b < m.devices.size(); ++b) {
      if (!m.devices[a].numa || m.devices[a].numa != m.devices[b].numa) continue;
      if (places.cpu[a] != places.cpu[b] && m.at(a, b).distance == Distance::sys && places.notes.empty())
        places.notes.emplace_back("GPUs that are SYS apart, but of one NUMA node, share a CPU here.");
      join(places.cpu, a, b);
    }
  if (join_unless_separated(m, places.cpu))
    places.notes.emplace_back("GPUs of which the matrix shows neither a PCIe relation (only NVLink) nor a NUMA node share a CPU here.");
  number_from_zero(places.cpu);
  return places;
}

}  // namespace topology::imports
