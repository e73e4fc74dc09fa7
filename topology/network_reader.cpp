#include "topology/description.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/numbers.hpp"

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

struct NetworkScope {
  const ClusterDescription& cluster;
  base::Diagnostics& sink;
  Network network;
};

void refuse_keys_of_others(base::MapReader& map, std::string_view type) {
  for (const OwnKey& key : kKeys)
    if (map.has(key.key) && !has_key(type, key))
      map.complain(key.key, fmt::format("a network of type {} has no {}", type, key.key),
                   fmt::format("{} is of type {}", key.key, key.types[0]));
}

void read_tree(NetworkScope& s, base::MapReader& map, bool is_switch) {
  s.network.oversubscription = map.number("oversubscription", 1.0, 1e6).value_or(1.0);
  s.network.nodes_per_leaf = static_cast<int>(map.integer("nodes_per_leaf", 1, kMaxNodes).value_or(s.network.nodes_per_leaf));
  s.network.leaves_per_pod = static_cast<int>(map.integer("leaves_per_pod", 1, kMaxNodes).value_or(0));
  s.network.pod_oversubscription = map.number("pod_oversubscription", 1.0, 1e6).value_or(1.0);
  if (is_switch && s.network.oversubscription > 1)
    map.complain("oversubscription", "a single switch is not oversubscribed", "write type: fat-tree, with nodes_per_leaf");
  if (s.network.leaves_per_pod == 0 && s.network.pod_oversubscription > 1)
    map.complain("pod_oversubscription", "a tree of two tiers has no pods", "write leaves_per_pod, too");
}

void read_dragonfly(NetworkScope& s, base::MapReader& map) {
  Dragonfly& d = s.network.dragonfly;
  d.nodes_per_router = static_cast<int>(map.integer("nodes_per_router", 1, kMaxNodes).value_or(1));
  d.routers_per_group = static_cast<int>(map.integer("routers_per_group", 1, kMostLinks).value_or(1));
  d.local_links = static_cast<int>(map.integer("local_links", 1, kMostLinks).value_or(1));
  d.global_links = static_cast<int>(map.integer("global_links", 1, kMostLinks).value_or(1));
  d.spread_nics = map.boolean("spread_nics").value_or(false);
  if (s.network.kind != NetworkKind::dragonfly) return;
  map.require("nodes_per_router");
  map.require("routers_per_group");
}

void read_dimensions(NetworkScope& s, const base::Yaml& list, const std::string& path) {
  const std::size_t before = s.sink.size();
  if (!list.is_sequence() || list.items.empty()) {
    s.sink.add(list.mark, path, "expected a list of sizes", "e.g. [4, 4, 8]");
    return;
  }
  std::int64_t places = 1;
  for (std::size_t d = 0; d < list.items.size(); ++d) {
    const std::string item = fmt::format("{}[{}]", path, d);
    const auto size = base::as_integer(list.items[d], item, s.sink);
    if (size && (*size < 1 || *size > kMaxNodes)) s.sink.add(list.items[d].mark, item, fmt::format("{} places in a dimension", *size));
    s.network.dimensions.push_back(static_cast<int>(size.value_or(1)));
    places = std::min<std::int64_t>(places * s.network.dimensions.back(), 2 * std::int64_t{kMaxNodes});
  }
  if (s.sink.size() > before || s.cluster.node_types.empty()) return;
  if (places < s.cluster.nodes() || places > kMaxNodes)
    s.sink.add(list.mark, path, fmt::format("{} places for {} nodes", places, s.cluster.nodes()),
               "the product of the sizes is the number of nodes, or more");
}

void read_switches(NetworkScope& s, const base::Yaml& list, const std::string& path) {
  if (!list.is_sequence() || list.items.empty() || list.items.size() > kMostSwitches) {
    s.sink.add(list.mark, path, fmt::format("expected a list of 1 to {} names", kMostSwitches), "e.g. [leaf0, leaf1, spine]");
    return;
  }
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::string item = fmt::format("{}[{}]", path, i);
    const std::string name = base::as_text(list.items[i], item, s.sink).value_or("");
    if (std::ranges::find(s.network.custom.switches, name) != s.network.custom.switches.end())
      s.sink.add(list.items[i].mark, item, fmt::format("\"{}\" is there twice", name));
    s.network.custom.switches.push_back(name);
  }
}

void check_attached(NetworkScope& s, base::MapReader& map) {
  for (std::size_t node = 0; node < s.network.custom.switch_of_nic.size(); ++node) {
    const NodeType& type = nth(s.cluster.node_types, s.cluster.type_of(static_cast<int>(node)));
    const std::vector<int>& switches = s.network.custom.switch_of_nic[node];
    const auto missing = std::ranges::find(switches, -1);
    if (missing == switches.end()) continue;
    const int nic = nth(type.nics(), static_cast<int>(missing - switches.begin()));
    map.complain("attach", fmt::format("{} of node {} hangs on no switch", nth(type.vertices, nic).name, node),
                 "name every NIC of every node");
    return;
  }
}

std::optional<int> find_switch(NetworkScope& s, const std::string& name, const base::Mark& mark, const std::string& path) {
  const auto at = std::ranges::find(s.network.custom.switches, name);
  if (at != s.network.custom.switches.end()) return static_cast<int>(at - s.network.custom.switches.begin());
  s.sink.add(mark, path, fmt::format("no switch is called \"{}\"", name), base::suggest(name, s.network.custom.switches));
  return std::nullopt;
}

void read_cable(NetworkScope& s, const base::Yaml& item, const std::string& path) {
  base::MapReader map(item, path, s.sink);
  CustomNetwork::Cable cable;
  cable.link = map.has("link") ? read_link_name(map, "link", s.cluster.links).value_or(0) : s.network.link;
  cable.count = static_cast<int>(map.integer("count", 1, kMostLinks).value_or(1));
  const auto* between = map.required("between");
  map.finish();
  if (between == nullptr) return;
  const std::string ends = map.path_of("between");
  if (!between->is_sequence() || between->items.size() != 2) {
    s.sink.add(between->mark, ends, "expected two names");
    return;
  }
  std::vector<int> found;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string end = fmt::format("{}[{}]", ends, i);
    const auto name = base::as_text(between->items[i], end, s.sink);
    const auto at = name ? find_switch(s, *name, between->items[i].mark, end) : std::nullopt;
    if (!at) return;
    found.push_back(*at);
  }
  cable.a = found[0];
  cable.b = found[1];
  if (cable.a == cable.b) s.sink.add(between->mark, ends, "a link joins two switches");
  else s.network.custom.cables.push_back(cable);
}

void attach_node(NetworkScope& s, int node, const std::optional<std::string>& nic, int to, const base::Mark& mark,
                 const std::string& path) {
  const NodeType& type = nth(s.cluster.node_types, s.cluster.type_of(node));
  std::vector<int>& switches = nth(s.network.custom.switch_of_nic, node);
  bool found = false;
  for (std::size_t n = 0; n < switches.size(); ++n) {
    const std::string& name = nth(type.vertices, type.nics()[n]).name;
    if (nic && *nic != name) continue;
    found = true;
    if (switches[n] >= 0) {
      s.sink.add(mark, path, fmt::format("{} of node {} hangs on two switches", name, node), "a NIC has one link to the network");
      return;
    }
    switches[n] = to;
  }
  if (!found) s.sink.add(mark, path, fmt::format("node {} has no NIC{}", node, nic ? fmt::format(" \"{}\"", *nic) : ""));
}

// "12" or "0-15".
void attach(NetworkScope& s, const base::Yaml& range, const std::string& path, const std::optional<std::string>& nic, int to) {
  const auto text = base::as_text(range, path, s.sink);
  if (!text) return;
  const std::size_t dash = text->find('-');
  const auto number = [](std::string_view digits) { return base::parse_integer(digits).value_or(-1); };
  const auto first = number(std::string_view(*text).substr(0, dash));
  const auto last = dash == std::string::npos ? first : number(std::string_view(*text).substr(dash + 1));
  if (first < 0 || last < first || last >= s.cluster.nodes()) {
    s.sink.add(range.mark, path, fmt::format("\"{}\" names no nodes of this cluster", *text),
               fmt::format("write e.g. 3, 0-15 or [0-3, 8]; nodes are 0 to {}", s.cluster.nodes() - 1));
    return;
  }
  for (auto node = first; node <= last; ++node) attach_node(s, static_cast<int>(node), nic, to, range.mark, path);
}

void read_attachment(NetworkScope& s, const base::Yaml& item, const std::string& path) {
  base::MapReader map(item, path, s.sink);
  const auto* nodes = map.required("nodes");
  const auto nic = map.text("nic");
  const auto to = map.text("to");
  map.require("to");
  map.finish();
  if (nodes == nullptr || !to) return;
  const auto found = find_switch(s, *to, map.node().find("to")->mark, map.path_of("to"));
  if (!found) return;
  if (!nodes->is_sequence()) attach(s, *nodes, map.path_of("nodes"), nic, *found);
  for (const base::Yaml& range : nodes->items) attach(s, range, map.path_of("nodes"), nic, *found);
}

void read_custom(NetworkScope& s, base::MapReader& map) {
  s.network.custom.mark = map.node().mark;
  s.network.custom.path = map.path();
  if (const auto* list = map.required("switches")) read_switches(s, *list, map.path_of("switches"));
  for (const NodeType& type : s.cluster.node_types)
    for (int i = 0; i < type.count; ++i) s.network.custom.switch_of_nic.emplace_back(type.nics().size(), -1);
  const auto each = [&](const base::Yaml* list, const char* key, auto read) {
    if (list != nullptr)
      read_each(*list, map.path_of(key), s.sink, "a list", "", [&](const auto& item, const auto& path) { read(s, item, path); });
  };
  each(map.required("attach"), "attach", read_attachment);
  each(map.optional("links"), "links", read_cable);
  if (s.sink.empty()) check_attached(s, map);
}

}  // namespace

Network read_network(const base::Yaml& section, const std::string& path, const ClusterDescription& cluster, base::Diagnostics& sink) {
  NetworkScope s{cluster, sink, {}};
  base::MapReader map(section, path, s.sink);
  static const std::vector<std::string> kNames(kTypes.begin(), kTypes.end());
  const auto type = map.choice("type", kNames);
  s.network.link = read_link_name(map, "link", s.cluster.links).value_or(0);
  if (type) {
    s.network.kind = static_cast<NetworkKind>(*type + 1);
    refuse_keys_of_others(map, kTypes[*type]);
  }
  read_tree(s, map, type && *type == 0);
  read_dragonfly(s, map);
  if (const auto* dimensions = map.optional("dimensions")) read_dimensions(s, *dimensions, map.path_of("dimensions"));
  if (s.network.kind == NetworkKind::torus) map.require("dimensions");
  if (s.network.kind == NetworkKind::custom) read_custom(s, map);
  for (const OwnKey& key : kKeys) (void)map.optional(key.key);  // those of others are reported above
  map.require("type");
  map.require("link");
  map.finish();
  return std::move(s.network);
}

void drop_keys_of_other_types(base::Yaml& network, std::string_view type) {
  if (std::ranges::find(kTypes, type) == kTypes.end()) return;
  for (const OwnKey& key : kKeys)
    if (!has_key(type, key)) network.erase(key.key);
}

}  // namespace topology
