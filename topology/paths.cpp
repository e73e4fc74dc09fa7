#include "topology/paths.hpp"

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

bool forwards(VertexKind kind, bool through_gpus) {
  return kind == VertexKind::cpu || kind == VertexKind::switching || (kind == VertexKind::gpu && through_gpus);
}

class PathFinder {
 public:
  PathFinder(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges, int source)
      : vertices_(vertices), edges_(edges), source_(static_cast<std::size_t>(source)), wiring_(vertices.size()) {
    for (std::size_t i = 0; i < edges.size(); ++i) {
      boost::add_edge(static_cast<std::size_t>(edges[i].from), static_cast<std::size_t>(edges[i].to), EdgeIndex{static_cast<int>(i)},
                      wiring_);
    }
  }

  // Two steps, because the narrowest link of a whole path decides how wide its first part must be: first the widest bottleneck to
  // each vertex, then the shortest path among the links that are that wide.
  std::vector<Path> find(bool through_gpus) const {
    const auto widths = widest(through_gpus);
    std::set<double> distinct(widths.begin(), widths.end());
    distinct.erase(0.0);
    std::vector<Path> result(vertices_.size());
    for (const double width : distinct) {
      const auto lengths = shortest(width, through_gpus);
      for (std::size_t v = 0; v < vertices_.size(); ++v) {
        if (widths[v] == width) result[v] = {lengths[v].links, width, lengths[v].latency, true};
      }
    }
    return result;
  }

 private:
  auto usable(double width, bool through_gpus) const {
    const std::function<bool(Wiring::edge_descriptor)> keep = [this, width, through_gpus](const Wiring::edge_descriptor& e) {
      const auto& edge = edges_[static_cast<std::size_t>(wiring_[e].index)];
      const auto from = static_cast<std::size_t>(edge.from);
      return edge.bandwidth >= width && (from == source_ || forwards(vertices_[from].kind, through_gpus));
    };
    return boost::filtered_graph(wiring_, keep);
  }

  std::vector<double> widest(bool through_gpus) const {
    const auto graph = usable(0, through_gpus);
    std::vector<double> width(vertices_.size(), 0.0);
    const auto weight = boost::make_function_property_map<Wiring::edge_descriptor, double>(
        [this](const Wiring::edge_descriptor& e) { return edges_[static_cast<std::size_t>(wiring_[e].index)].bandwidth; });
    boost::dijkstra_shortest_paths_no_color_map(
        graph, source_,
        boost::distance_map(boost::make_iterator_property_map(width.begin(), boost::get(boost::vertex_index, wiring_)))
            .weight_map(weight)
            .distance_compare(std::greater<>())
            .distance_combine([](double a, double b) { return std::min(a, b); })
            .distance_inf(0.0)
            .distance_zero(std::numeric_limits<double>::infinity()));
    return width;
  }

  std::vector<Length> shortest(double width, bool through_gpus) const {
    const auto graph = usable(width, through_gpus);
    std::vector<Length> length(vertices_.size());
    const auto weight = boost::make_function_property_map<Wiring::edge_descriptor, Length>([this](const Wiring::edge_descriptor& e) {
      const auto& edge = edges_[static_cast<std::size_t>(wiring_[e].index)];
      return Length{1, edge.latency, {edge.link}};
    });
    boost::dijkstra_shortest_paths_no_color_map(
        graph, source_,
        boost::distance_map(boost::make_iterator_property_map(length.begin(), boost::get(boost::vertex_index, wiring_)))
            .weight_map(weight)
            .distance_compare(std::less<>())
            .distance_combine([](const Length& a, const Length& hop) { return a.lengthened(hop); })
            .distance_inf(Length::infinite())
            .distance_zero(Length{}));
    return length;
  }

  std::span<const Vertex> vertices_;
  std::span<const DirectedEdge> edges_;
  std::size_t source_;
  Wiring wiring_;
};

}  // namespace

std::vector<Path> best_paths(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges, int source) {
  const PathFinder finder(vertices, edges, source);
  auto paths = finder.find(false);
  if (std::ranges::all_of(paths, &Path::found)) return paths;
  const auto forwarded = finder.find(true);
  for (std::size_t v = 0; v < paths.size(); ++v) {
    if (!paths[v].found) paths[v] = forwarded[v];
  }
  return paths;
}

}  // namespace topology
