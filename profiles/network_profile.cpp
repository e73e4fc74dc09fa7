// The text form of network profiles, and those that ship.
#include "profiles/network_profile.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "profiles/network_files.hpp"

namespace profiles {
namespace {

constexpr std::array kKinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                               CollectiveKind::all_to_all, CollectiveKind::broadcast,  CollectiveKind::send};
constexpr std::array kAlgorithms = {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::in_switch, Algorithm::pairwise};

class NetworkReader {
 public:
  explicit NetworkReader(base::Diagnostics& sink) : sink_(sink) {}

  NetworkProfile read(const base::Yaml& document) {
    base::MapReader map(document, "", sink_);
    map.format();
    NetworkProfile profile;
    if (const auto* node = map.required("network")) profile = read_network(*node);
    map.finish();
    return profile;
  }

 private:
  NetworkProfile read_network(const base::Yaml& node) {
    base::MapReader map(node, "network", sink_);
    NetworkProfile profile;
    profile.name = map.text("name").value_or("");
    map.require("name");
    profile.relays = map.boolean("relays").value_or(false);
    if (const auto* links = map.required("links"); links != nullptr) read_links(*links, profile);
    if (const auto* calls = map.required("calls"); calls != nullptr) read_calls(*calls, profile);
    map.finish();
    return profile;
  }

  void read_links(const base::Yaml& node, NetworkProfile& profile) {
    base::MapReader map(node, "network.links", sink_);
    if (!node.is_map()) return;
    for (const auto& entry : node.entries) {
      (void)map.optional(entry.key);
      base::MapReader link(entry.value, map.path_of(entry.key), sink_);
      auto& algorithms = profile.links[entry.key];
      for (const Algorithm a : kAlgorithms)
        if (const auto* protocols = link.optional(to_text(a))) algorithms[a] = read_protocols(*protocols, link.path_of(to_text(a)));
      link.finish();
    }
  }

  std::map<Protocol, NetworkHop> read_protocols(const base::Yaml& node, const std::string& path) {
    base::MapReader map(node, path, sink_);
    std::map<Protocol, NetworkHop> hops;
    for (const Protocol p : kProtocols) {
      const auto* hop = map.optional(to_text(p));
      if (hop == nullptr) continue;
      base::MapReader fields(*hop, map.path_of(to_text(p)), sink_);
      hops[p] = {read_latency(fields, "latency"), fields.number("efficiency", 1e-4, 1).value_or(1), fields.text("source").value_or("")};
      fields.require("efficiency");
      fields.finish();
    }
    map.finish();
    if (node.is_map() && hops.empty()) sink_.add(node.mark, path, "no protocol", "one or more of: ll, ll128, simple");
    return hops;
  }

  void read_calls(const base::Yaml& node, NetworkProfile& profile) {
    base::MapReader map(node, "network.calls", sink_);
    for (const CollectiveKind k : kKinds) {
      const auto* call = map.optional(to_text(k));
      if (call == nullptr) continue;
      base::MapReader fields(*call, map.path_of(to_text(k)), sink_);
      NetworkCall& c = profile.calls[k];
      c.local = fields.number("local", 0, 10).value_or(0);
      c.source = fields.text("source").value_or("");
      if (const auto* base = fields.optional("base")) {
        base::MapReader protocols(*base, fields.path_of("base"), sink_);
        for (const Protocol p : kProtocols)
          if (protocols.has(to_text(p))) c.base[p] = read_latency(protocols, to_text(p));
        protocols.finish();
      }
      fields.finish();
    }
    map.finish();
  }

  base::Seconds read_latency(base::MapReader& map, std::string_view key) {
    const base::Seconds s = map.seconds(key).value_or(base::Seconds(0));
    if (s.value() < 0) map.complain(key, "a latency cannot be negative");
    return s;
  }

  base::Diagnostics& sink_;
};

std::map<std::string, NetworkProfile, std::less<>> load_shipped() {
  std::map<std::string, NetworkProfile, std::less<>> profiles;
  for (const auto& [name, text] : network_files())
    profiles.emplace(name, load_network_profile(base::parse_yaml(std::string(text), fmt::format("<network {}>", name))));
  return profiles;
}

}  // namespace

std::string_view to_text(Protocol p) {
  constexpr std::array<std::string_view, 3> kNames = {"ll", "ll128", "simple"};
  return kNames[static_cast<std::size_t>(p)];
}

const NetworkHop* NetworkProfile::find(std::string_view link_type, Algorithm a, Protocol p) const {
  const auto type = links.find(link_type);
  if (type == links.end()) return nullptr;
  const auto algorithm = type->second.find(a);
  if (algorithm == type->second.end()) return nullptr;
  const auto hop = algorithm->second.find(p);
  return hop == algorithm->second.end() ? nullptr : &hop->second;
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : network_files()) names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

const NetworkProfile& network_profile(std::string_view name) {
  static const auto kShipped = load_shipped();  // constant data, read once
  const auto at = kShipped.find(name);
  if (at != kShipped.end()) return at->second;
  base::Diagnostics sink;
  sink.add({}, "", fmt::format("no network profile is called \"{}\"", name), base::suggest(std::string(name), network_names()));
  sink.throw_if_any();
  return kShipped.begin()->second;  // not reached
}

NetworkProfile load_network_profile(const base::Yaml& document) {
  base::Diagnostics sink;
  auto profile = NetworkReader(sink).read(document);
  sink.throw_if_any();
  return profile;
}

std::string to_yaml(const NetworkProfile& profile) {
  const auto source = [](const std::string& s) { return s.empty() ? std::string() : fmt::format(", source: \"{}\"", s); };
  const auto micros = [](base::Seconds s) { return fmt::format("{:.3g} us", s.value() * 1e6); };
  std::string text =
      fmt::format("foreshard: 1\nnetwork:\n  name: {}\n{}  links:\n", profile.name, profile.relays ? "  relays: true\n" : "");
  for (const auto& [type, algorithms] : profile.links) {
    text += fmt::format("    {}:\n", type);
    for (const auto& [algorithm, protocols] : algorithms) {
      text += fmt::format("      {}:\n", to_text(algorithm));
      for (const auto& [protocol, hop] : protocols)
        text += fmt::format("        {}: {{latency: {}, efficiency: {:.3g}{}}}\n", to_text(protocol), micros(hop.latency), hop.efficiency,
                            source(hop.source));
    }
  }
  text += "  calls:\n";
  for (const auto& [kind, call] : profile.calls) {
    std::string base;
    for (const auto& [protocol, latency] : call.base)
      base += fmt::format("{}{}: {}", base.empty() ? "" : ", ", to_text(protocol), micros(latency));
    text += fmt::format("    {}: {{base: {{{}}}{}{}}}\n", to_text(kind), base,
                        call.local > 0 ? fmt::format(", local: {:.3g}", call.local) : std::string(), source(call.source));
  }
  return text;
}

}  // namespace profiles
