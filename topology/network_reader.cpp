#include "topology/network_reader.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "topology/node_reader.hpp"

namespace topology {
namespace {

constexpr std::array<std::string_view, 6> kTypes = {"switch", "fat-tree", "rail", "dragonfly", "torus", "custom"};
// More than any machine has between two switches: a slip of the pen is found before memory fills.
constexpr std::int64_t kMostLinks = 1000;
// Tables of distances are quadratic in it.
constexpr std::size_t kMostSwitches = 2000;

// Keys besides `type` and `link`, and the types that have them.
struct OwnKey {
  std::string_view key;
  std::array<std::string_view, 3> types;
};
constexpr OwnKey kKeys[] = {
    {"oversubscription", {"switch", "fat-tree", "rail"}},
    {"nodes_per_leaf", {"fat-tree"}},
    {"leaves_per_pod", {"fat-tree"}},
    {"pod_oversubscription", {"fat-tree"}},
    {"nodes_per_router", {"dragonfly"}},
    {"routers_per_group", {"dragonfly"}},
    {"local_links", {"dragonfly"}},
    {"global_links", {"dragonfly"}},
    {"spread_nics", {"dragonfly"}},
    {"dimensions", {"torus"}},
    {"switches", {"custom"}},
    {"attach", {"custom"}},
    {"links", {"custom"}},
};

bool has_key(std::string_view type, const OwnKey& key) { return std::ranges::find(key.types, type) != key.types.end(); }

class NetworkReader {
 public:
  NetworkReader(const ClusterDescription& cluster, base::Diagnostics& sink) : cluster_(cluster), sink_(sink) {}

  Network read(const base::Yaml& section, const std::string& path) {
    base::MapReader map(section, path, sink_);
    static const std::array<std::string, 6> kNames = {"switch", "fat-tree", "rail", "dragonfly", "torus", "custom"};
    const auto type = map.choice("type", kNames);
    network_.link = read_link_name(map, "link", cluster_.links).value_or(0);
    if (type) {
      network_.kind = static_cast<NetworkKind>(*type + 1);
      refuse_keys_of_others(map, kTypes[*type]);
    }
    read_tree(map, type && *type == 0);
    read_dragonfly(map);
    if (const auto* dimensions = map.optional("dimensions")) read_dimensions(*dimensions, map.path_of("dimensions"));
    if (network_.kind == NetworkKind::torus) map.require("dimensions");
    if (network_.kind == NetworkKind::custom) read_custom(map);
    for (const OwnKey& key : kKeys) (void)map.optional(key.key);  // those of others are reported above
    map.require("type");
    map.require("link");
    map.finish();
    return std::move(network_);
  }

 private:
  void refuse_keys_of_others(base::MapReader& map, std::string_view type) {
    for (const OwnKey& key : kKeys)
      if (map.has(key.key) && !has_key(type, key))
        map.complain(key.key, fmt::format("a network of type {} has no {}", type, key.key),
                     fmt::format("{} is of type {}", key.key, key.types[0]));
  }

  void read_tree(base::MapReader& map, bool is_switch) {
    network_.oversubscription = map.number("oversubscription", 1.0, 1e6).value_or(1.0);
    network_.nodes_per_leaf = static_cast<int>(map.integer("nodes_per_leaf", 1, kMaxNodes).value_or(network_.nodes_per_leaf));
    network_.leaves_per_pod = static_cast<int>(map.integer("leaves_per_pod", 1, kMaxNodes).value_or(0));
    network_.pod_oversubscription = map.number("pod_oversubscription", 1.0, 1e6).value_or(1.0);
    if (is_switch && network_.oversubscription > 1)
      map.complain("oversubscription", "a single switch is not oversubscribed", "write type: fat-tree, with nodes_per_leaf");
    if (network_.leaves_per_pod == 0 && network_.pod_oversubscription > 1)
      map.complain("pod_oversubscription", "a tree of two tiers has no pods", "write leaves_per_pod, too");
  }

  void read_dragonfly(base::MapReader& map) {
    Dragonfly& d = network_.dragonfly;
    d.nodes_per_router = static_cast<int>(map.integer("nodes_per_router", 1, kMaxNodes).value_or(1));
    d.routers_per_group = static_cast<int>(map.integer("routers_per_group", 1, kMostLinks).value_or(1));
    d.local_links = static_cast<int>(map.integer("local_links", 1, kMostLinks).value_or(1));
    d.global_links = static_cast<int>(map.integer("global_links", 1, kMostLinks).value_or(1));
    d.spread_nics = map.boolean("spread_nics").value_or(false);
    if (network_.kind != NetworkKind::dragonfly) return;
    map.require("nodes_per_router");
    map.require("routers_per_group");
  }

  void read_dimensions(const base::Yaml& list, const std::string& path) {
    const std::size_t before = sink_.size();
    if (!list.is_sequence() || list.items.empty()) {
      sink_.add(list.mark, path, "expected a list of sizes", "e.g. [4, 4, 8]");
      return;
    }
    std::int64_t places = 1;
    for (std::size_t d = 0; d < list.items.size(); ++d) {
      const std::string item = fmt::format("{}[{}]", path, d);
      const auto size = base::as_integer(list.items[d], item, sink_);
      if (size && (*size < 1 || *size > kMaxNodes)) sink_.add(list.items[d].mark, item, fmt::format("{} places in a dimension", *size));
      network_.dimensions.push_back(static_cast<int>(size.value_or(1)));
      places = std::min<std::int64_t>(places * network_.dimensions.back(), 2 * std::int64_t{kMaxNodes});
    }
    if (sink_.size() > before || cluster_.node_types.empty()) return;
    if (places < cluster_.nodes() || places > kMaxNodes)
      sink_.add(list.mark, path, fmt::format("{} places for {} nodes", places, cluster_.nodes()),
                "the product of the sizes is the number of nodes, or more");
  }

  void read_custom(base::MapReader& map) {
    network_.custom.mark = map.node().mark;
    network_.custom.path = map.path();
    if (const auto* list = map.required("switches")) read_switches(*list, map.path_of("switches"));
    for (const NodeType& type : cluster_.node_types)
      for (int i = 0; i < type.count; ++i) network_.custom.switch_of_nic.emplace_back(type.nics().size(), -1);
    if (const auto* list = map.required("attach")) each(*list, map.path_of("attach"), &NetworkReader::read_attachment);
    if (const auto* list = map.optional("links")) each(*list, map.path_of("links"), &NetworkReader::read_cable);
    if (sink_.empty()) check_attached(map);
  }

  void each(const base::Yaml& list, const std::string& path, void (NetworkReader::*one)(const base::Yaml&, const std::string&)) {
    if (!list.is_sequence()) sink_.add(list.mark, path, "expected a list");
    for (std::size_t i = 0; i < list.items.size(); ++i) (this->*one)(list.items[i], fmt::format("{}[{}]", path, i));
  }

  void read_switches(const base::Yaml& list, const std::string& path) {
    if (!list.is_sequence() || list.items.empty() || list.items.size() > kMostSwitches) {
      sink_.add(list.mark, path, fmt::format("expected a list of 1 to {} names", kMostSwitches), "e.g. [leaf0, leaf1, spine]");
      return;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::string item = fmt::format("{}[{}]", path, i);
      const std::string name = base::as_text(list.items[i], item, sink_).value_or("");
      if (std::ranges::find(network_.custom.switches, name) != network_.custom.switches.end())
        sink_.add(list.items[i].mark, item, fmt::format("\"{}\" is there twice", name));
      network_.custom.switches.push_back(name);
    }
  }

  std::optional<int> find_switch(const std::string& name, const base::Mark& mark, const std::string& path) {
    const auto at = std::ranges::find(network_.custom.switches, name);
    if (at != network_.custom.switches.end()) return static_cast<int>(at - network_.custom.switches.begin());
    sink_.add(mark, path, fmt::format("no switch is called \"{}\"", name), base::suggest(name, network_.custom.switches));
    return std::nullopt;
  }

  void read_cable(const base::Yaml& item, const std::string& path) {
    base::MapReader map(item, path, sink_);
    CustomNetwork::Cable cable;
    cable.link = map.has("link") ? read_link_name(map, "link", cluster_.links).value_or(0) : network_.link;
    cable.count = static_cast<int>(map.integer("count", 1, kMostLinks).value_or(1));
    const auto* between = map.required("between");
    map.finish();
    if (between == nullptr) return;
    const std::string ends = map.path_of("between");
    if (!between->is_sequence() || between->items.size() != 2) {
      sink_.add(between->mark, ends, "expected two names");
      return;
    }
    std::vector<int> found;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string end = fmt::format("{}[{}]", ends, i);
      const auto name = base::as_text(between->items[i], end, sink_);
      const auto at = name ? find_switch(*name, between->items[i].mark, end) : std::nullopt;
      if (!at) return;
      found.push_back(*at);
    }
    cable.a = found[0];
    cable.b = found[1];
    if (cable.a == cable.b) sink_.add(between->mark, ends, "a link joins two switches");
    else network_.custom.cables.push_back(cable);
  }

  void read_attachment(const base::Yaml& item, const std::string& path) {
    base::MapReader map(item, path, sink_);
    const auto* nodes = map.required("nodes");
    const auto nic = map.text("nic");
    const auto to = map.text("to");
    map.require("to");
    map.finish();
    if (nodes == nullptr || !to) return;
    const auto found = find_switch(*to, map.node().find("to")->mark, map.path_of("to"));
    if (!found) return;
    const std::vector<const base::Yaml*> ranges = [&] {
      std::vector<const base::Yaml*> all;
      if (!nodes->is_sequence()) all.push_back(nodes);
      for (const base::Yaml& n : nodes->items) all.push_back(&n);
      return all;
    }();
    for (const base::Yaml* range : ranges) attach(*range, map.path_of("nodes"), nic, *found);
  }

  // "12" or "0-15".
  void attach(const base::Yaml& range, const std::string& path, const std::optional<std::string>& nic, int to) {
    const auto text = base::as_text(range, path, sink_);
    if (!text) return;
    const std::size_t dash = text->find('-');
    const auto number = [](std::string_view digits) {
      int n = -1;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
      return error == std::errc{} && end == digits.data() + digits.size() ? n : -1;
    };
    const int first = number(std::string_view(*text).substr(0, dash));
    const int last = dash == std::string::npos ? first : number(std::string_view(*text).substr(dash + 1));
    if (first < 0 || last < first || last >= cluster_.nodes()) {
      sink_.add(range.mark, path, fmt::format("\"{}\" names no nodes of this cluster", *text),
                fmt::format("write e.g. 3, 0-15 or [0-3, 8]; nodes are 0 to {}", cluster_.nodes() - 1));
      return;
    }
    for (int node = first; node <= last; ++node) attach_node(node, nic, to, range.mark, path);
  }

  void attach_node(int node, const std::optional<std::string>& nic, int to, const base::Mark& mark, const std::string& path) {
    const NodeType& type = cluster_.node_types[static_cast<std::size_t>(cluster_.type_of(node))];
    std::vector<int>& switches = network_.custom.switch_of_nic[static_cast<std::size_t>(node)];
    bool found = false;
    for (std::size_t n = 0; n < switches.size(); ++n) {
      const std::string& name = type.vertices[static_cast<std::size_t>(type.nics()[n])].name;
      if (nic && *nic != name) continue;
      found = true;
      if (switches[n] >= 0) {
        sink_.add(mark, path, fmt::format("{} of node {} hangs on two switches", name, node), "a NIC has one link to the network");
        return;
      }
      switches[n] = to;
    }
    if (!found) sink_.add(mark, path, fmt::format("node {} has no NIC{}", node, nic ? fmt::format(" \"{}\"", *nic) : ""));
  }

  void check_attached(base::MapReader& map) {
    for (std::size_t node = 0; node < network_.custom.switch_of_nic.size(); ++node) {
      const NodeType& type = cluster_.node_types[static_cast<std::size_t>(cluster_.type_of(static_cast<int>(node)))];
      const std::vector<int>& switches = network_.custom.switch_of_nic[node];
      const auto missing = std::ranges::find(switches, -1);
      if (missing == switches.end()) continue;
      const int nic = type.nics()[static_cast<std::size_t>(missing - switches.begin())];
      map.complain("attach", fmt::format("{} of node {} hangs on no switch", type.vertices[static_cast<std::size_t>(nic)].name, node),
                   "name every NIC of every node");
      return;
    }
  }

  const ClusterDescription& cluster_;
  base::Diagnostics& sink_;
  Network network_;
};

}  // namespace

Network read_network(const base::Yaml& section, const std::string& path, const ClusterDescription& cluster, base::Diagnostics& sink) {
  return NetworkReader(cluster, sink).read(section, path);
}

void drop_keys_of_other_types(base::Yaml& network, std::string_view type) {
  if (std::ranges::find(kTypes, type) == kTypes.end()) return;
  for (const OwnKey& key : kKeys)
    if (!has_key(type, key)) network.erase(key.key);
}

}  // namespace topology
