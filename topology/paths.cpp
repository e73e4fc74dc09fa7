#include "topology/routing.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <compare>
#include <functional>
#include <limits>
#include <set>

namespace topology {
namespace {

struct EdgeIndex {
  int index = 0;
};
using Wiring = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, EdgeIndex>;

// Fewest hops, then least latency, then lowest link ids. Appending a hop to two paths of equal length keeps their order, and adds a
// hop to both, which is what Dijkstra's algorithm asks of a distance.
struct Length {
  int hops = 0;
  double latency = 0;
  std::vector<int> links;

  static Length infinite() { return {std::numeric_limits<int>::max(), 0, {}}; }
  Length lengthened(const Length& hop) const {
    if (hops == infinite().hops) return *this;
    Length result = *this;
    result.hops += hop.hops;
    result.latency += hop.latency;
    result.links.insert(result.links.end(), hop.links.begin(), hop.links.end());
    return result;
  }
  auto operator<=>(const Length&) const = default;
};

// Switches from which no CPU and no NIC is reached but through a GPU.
std::vector<bool> fabric_switches(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges) {
  std::vector<bool> fabric;
  for (const Vertex& v : vertices) fabric.push_back(v.kind == VertexKind::switching);
  for (bool changed = true; changed;) {  // a switch beside one that is none is none either
    changed = false;
    for (const DirectedEdge& e : edges) {
      const auto from = static_cast<std::size_t>(e.from), to = static_cast<std::size_t>(e.to);
      if (!fabric[from] || fabric[to] || vertices[to].kind == VertexKind::gpu) continue;
      fabric[from] = false;
      changed = true;
    }
  }
  return fabric;
}

class PathFinder {
 public:
  PathFinder(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges, int source)
      : vertices_(vertices),
        edges_(edges),
        source_(static_cast<std::size_t>(source)),
        fabric_(fabric_switches(vertices, edges)),
        wiring_(vertices.size()) {
    for (std::size_t i = 0; i < edges.size(); ++i) {
      boost::add_edge(static_cast<std::size_t>(edges[i].from), static_cast<std::size_t>(edges[i].to), EdgeIndex{static_cast<int>(i)},
                      wiring_);
    }
  }

  // Two steps, because the narrowest link of a whole path decides how wide its first part must be: first the widest bottleneck to
  // each vertex, then the shortest path among the links that are that wide.
  std::vector<Path> find(RouteKind kind) const {
    const auto widths = widest(kind);
    std::set<double> distinct(widths.begin(), widths.end());
    distinct.erase(0.0);
    std::vector<Path> result(vertices_.size());
    for (const double width : distinct) {
      const auto lengths = shortest(width, kind);
      for (std::size_t v = 0; v < vertices_.size(); ++v) {
        if (widths[v] == width) result[v] = {lengths[v].links, width, lengths[v].latency, true, kind};
      }
    }
    return result;
  }

 private:
  // Whether a path of this kind, or of a nearer one, may go on over the edge.
  bool forwards(const DirectedEdge& edge, RouteKind kind) const {
    const auto from = static_cast<std::size_t>(edge.from), to = static_cast<std::size_t>(edge.to);
    const bool joins_sockets = vertices_[from].kind == VertexKind::cpu && vertices_[to].kind == VertexKind::cpu;
    if (joins_sockets && kind < RouteKind::sockets) return false;
    if (from == source_) return true;
    switch (vertices_[from].kind) {
      case VertexKind::switching: return kind >= RouteKind::switches || fabric_[from];
      case VertexKind::cpu: return kind >= RouteKind::one_socket;
      case VertexKind::gpu: return kind >= RouteKind::gpus;
      case VertexKind::nic: return false;
    }
    return false;
  }

  auto usable(double width, RouteKind kind) const {
    const std::function<bool(Wiring::edge_descriptor)> keep = [this, width, kind](const Wiring::edge_descriptor& e) {
      const auto& edge = nth(edges_, wiring_[e].index);
      return edge.bandwidth >= width && forwards(edge, kind);
    };
    return boost::filtered_graph(wiring_, keep);
  }

  std::vector<double> widest(RouteKind kind) const {
    return distances(
        0, kind, [](const DirectedEdge& e) { return e.bandwidth; }, std::greater<>(), [](double a, double b) { return std::min(a, b); },
        0.0, std::numeric_limits<double>::infinity());
  }

  std::vector<Length> shortest(double width, RouteKind kind) const {
    return distances(
        width, kind,
        [](const DirectedEdge& e) {
          return Length{1, e.latency, {e.link}};
        },
        std::less<>(), [](const Length& a, const Length& hop) { return a.lengthened(hop); }, Length::infinite(), Length{});
  }

  // Of the best paths from the source over links of this width and kind, by Dijkstra's algorithm.
  template <class Distance, class OfEdge, class Compare, class Combine>
  std::vector<Distance> distances(double width, RouteKind kind, OfEdge of, Compare compare, Combine combine, const Distance& infinite,
                                  const Distance& zero) const {
    const auto graph = usable(width, kind);
    std::vector<Distance> distance(vertices_.size());
    const auto weight = boost::make_function_property_map<Wiring::edge_descriptor, Distance>(
        [&](const Wiring::edge_descriptor& e) { return of(nth(edges_, wiring_[e].index)); });
    boost::dijkstra_shortest_paths_no_color_map(
        graph, source_,
        boost::distance_map(boost::make_iterator_property_map(distance.begin(), boost::get(boost::vertex_index, wiring_)))
            .weight_map(weight)
            .distance_compare(compare)
            .distance_combine(combine)
            .distance_inf(infinite)
            .distance_zero(zero));
    return distance;
  }

  std::span<const Vertex> vertices_;
  std::span<const DirectedEdge> edges_;
  std::size_t source_;
  std::vector<bool> fabric_;  // per vertex
  Wiring wiring_;
};

}  // namespace

std::vector<Path> best_paths(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges, int source) {
  const PathFinder finder(vertices, edges, source);
  std::vector<Path> paths(vertices.size());
  for (const RouteKind kind : {RouteKind::fabric, RouteKind::switches, RouteKind::one_socket, RouteKind::sockets, RouteKind::gpus}) {
    if (std::ranges::all_of(paths, &Path::found)) break;
    const std::vector<Path> further = finder.find(kind);
    for (std::size_t v = 0; v < paths.size(); ++v)
      if (!paths[v].found) paths[v] = further[v];
  }
  return paths;
}

}  // namespace topology
