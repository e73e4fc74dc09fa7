#include "search/planners/unity/variants.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.hpp"

namespace search {
namespace {

// Names of the example's nodes as those of the segment that is alike.
class Names {
 public:
  Names(const SegmentGraph& example, const SegmentGraph& original, std::set<std::string>& taken) : taken_(taken) {
    for (std::size_t n = 0; n < example.graph.nodes().size(); ++n) known_[example.graph.nodes()[n].name] = original.graph.nodes()[n].name;
    from_ = stem(example.graph.nodes().back().name);
    to_ = stem(original.graph.nodes().back().name);
  }

  // A node that was there before, and one that a rule made.
  [[nodiscard]] const std::string* known(const std::string& name) const {
    const auto at = known_.find(name);
    return at == known_.end() ? nullptr : &at->second;
  }
  std::string fresh(const std::string& name) {
    std::string text = name.starts_with(from_) ? to_ + name.substr(from_.size()) : name;
    while (taken_.contains(text)) text += "'";
    return text;
  }

 private:
  static std::string stem(const std::string& name) { return name.substr(0, name.find('.')); }

  std::map<std::string, std::string> known_;
  std::string from_, to_;
  std::set<std::string>& taken_;
};

}  // namespace

SegmentGraph segment_graph(const pcg::Graph& whole, const Segment& segment) {
  pcg::GraphBuilder builder(whole.name());
  SegmentGraph s;
  std::map<pcg::GraphTensorRef, pcg::GraphTensorRef> now;
  std::uint32_t count = 0;
  std::vector<bool> read_outside(whole.nodes().size(), false);
  for (std::uint32_t n = 0; n < read_outside.size(); ++n)
    if (!std::ranges::binary_search(segment.operators, n))
      for (const pcg::GraphTensorRef t : whole.nodes()[n].inputs) read_outside[t.node.value] = true;
  for (const std::uint32_t n : segment.operators) {
    const pcg::GraphNode& node = whole.nodes()[n];
    if (s.blocks.empty() || s.blocks.back() != node.block) {
      s.blocks.push_back(node.block);
      builder.begin_block(whole.blocks()[static_cast<std::size_t>(node.block)]);
    }
    std::vector<pcg::GraphTensorRef> inputs;
    for (const pcg::GraphTensorRef t : node.inputs) {
      const auto [at, is_new] = now.try_emplace(t);
      if (is_new) {
        const pcg::GraphNode& source = whole.node(t.node);
        const bool is_first = segment.first == t.node.value;
        BASE_CHECK(is_first || is_source(source), "\"{}\" is outside the segment that reads it", source.name);
        if (is_first) s.first = pcg::GraphNodeId(count);
        at->second = is_first ? builder.input(source.name, whole.shape(t)) : builder.add_raw(source.name, source.op, {}).front();
        s.is_shared.push_back(read_outside[t.node.value]);
        ++count;
      }
      inputs.push_back(at->second);
    }
    const std::vector<pcg::GraphTensorRef> outputs = builder.add_raw(node.name, node.op, std::move(inputs));
    s.is_shared.push_back(false);
    ++count;
    for (std::size_t o = 0; o < outputs.size(); ++o) now[{pcg::GraphNodeId(n), static_cast<int>(o)}] = outputs[o];
  }
  s.graph = std::move(builder).build();
  return s;
}

bool alike(const SegmentGraph& a, const SegmentGraph& b) {
  const auto same = [](const pcg::GraphNode& m, const pcg::GraphNode& n) {
    return m.op == n.op && m.inputs == n.inputs && m.outputs == n.outputs && m.block == n.block;
  };
  return a.first == b.first && a.is_shared == b.is_shared && std::ranges::equal(a.graph.nodes(), b.graph.nodes(), same);
}

Joined joined(const pcg::Graph& whole, const std::vector<Piece>& pieces) {
  pcg::GraphBuilder builder(whole.name());
  Joined result;
  std::set<std::string> taken;
  for (const pcg::GraphNode& n : whole.nodes()) taken.insert(n.name);
  std::map<std::string, std::uint32_t> sources;  // that are there
  std::vector<std::vector<pcg::GraphTensorRef>> now;
  std::optional<pcg::GraphTensorRef> end;  // of the piece before
  int block = -1;
  for (const Piece& piece : pieces) {
    Names names(*piece.example, *piece.original, taken);
    std::vector<std::uint32_t>& numbers = result.node.emplace_back();
    for (const pcg::GraphNode& node : piece.graph->nodes()) {
      for (; block < piece.original->blocks[static_cast<std::size_t>(node.block)]; ++block)
        builder.begin_block(whole.blocks()[static_cast<std::size_t>(block + 1)]);
      if (piece.first && node.name == *piece.first && is_source(node)) {
        numbers.push_back(end->node.value);
        continue;
      }
      const std::string* known = names.known(node.name);
      const std::string name = known != nullptr ? *known : names.fresh(node.name);
      if (const auto at = sources.find(name); at != sources.end()) {
        numbers.push_back(at->second);
        continue;
      }
      taken.insert(name);
      std::vector<pcg::GraphTensorRef> inputs;
      for (const pcg::GraphTensorRef t : node.inputs) inputs.push_back({pcg::GraphNodeId(numbers[t.node.value]), t.output});
      pcg::Operator op = node.op;
      if (auto* weight = std::get_if<pcg::Weight>(&op))
        for (pcg::WeightPart& part : weight->parts)
          if (const std::string* of = names.known(part.of)) part.of = *of;
      const std::vector<pcg::GraphTensorRef> outputs = builder.add_raw(name, std::move(op), std::move(inputs));
      numbers.push_back(outputs.front().node.value);
      if (is_source(node)) sources[name] = numbers.back();
    }
    end = pcg::GraphTensorRef{pcg::GraphNodeId(numbers.back()), 0};
  }
  result.graph = std::move(builder).build();
  return result;
}

}  // namespace search
