#include "pcg/models/onnx/read_onnx.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "pcg/models/onnx/importer.hpp"
#include "pcg/models/onnx/model.hpp"

namespace pcg::models::onnx {
namespace {

// Samples of a model whose file leaves the batch free: a number that no other size of a model is likely to be.
constexpr std::int64_t kSamples = 7919;

bool ends_in_linear(const Draft& draft, GraphTensorRef t) {
  const auto* linear = std::get_if<Linear>(&draft.nodes()[t.node.value].op);
  return linear != nullptr && linear->activation == Activation::none && linear->out > 1;
}

// The loss of each element, against an input of targets, or of each position, against one of labels.
GraphTensorRef add_loss(Importer& importer, GraphTensorRef output, Loss loss, const std::string& suffix) {
  const TensorShape shape = importer.draft().shape(output);
  const Samples samples = importer.samples_of(output);
  if (samples.dim != 0 || samples.outer != 1)
    throw Refused{fmt::format("this output is {}, and its first dim does not hold the samples", to_text(shape)),
                  "transpose it, or name other outputs: outputs: [..] beside onnx"};
  std::vector<std::int64_t> of_each = shape.sizes;
  if (loss == Loss::cross_entropy) of_each.pop_back();
  if (of_each.empty()) throw Refused{fmt::format("this output is {}", to_text(shape)), "write loss: squared_error beside onnx"};
  const bool entropy = loss == Loss::cross_entropy;
  // Positions of a sample that were merged with the samples are put apart in the input, whose first dim holds the samples.
  std::vector<std::int64_t> apart = of_each;
  if (apart[0] != importer.batch()) {
    apart[0] /= importer.batch();
    apart.insert(apart.begin(), importer.batch());
  }
  GraphTensorRef against =
      importer.add((entropy ? "labels" : "targets") + suffix, Input{{apart, entropy ? pcg::Element::index : pcg::Element::real}}, {});
  if (apart != of_each) {
    std::vector<std::int64_t> merged = of_each;
    merged[0] = -1;
    against = importer.add("labels" + suffix + ".dims", Reshape{.sizes = merged}, {against});
  }
  return importer.add("loss" + suffix, entropy ? Operator(CrossEntropy{}) : Operator(SquaredError{}), {output, against});
}

// The output after a LogSoftmax: cross entropy takes the softmax itself.
std::string before_log_softmax(Model& model, const std::string& output) {
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (model.nodes[n].type == "LogSoftmax" && model.nodes[n].outputs == std::vector{output} && model.nodes[n].has_input(0)) {
      const std::string before = model.nodes[n].inputs[0];
      model.nodes.erase(model.nodes.begin() + static_cast<std::ptrdiff_t>(n));
      return before;
    }
  return output;
}

class Reader {
 public:
  Reader(const std::filesystem::path& file, const ReadConfig& config, base::Diagnostics& sink) : file_(file), config_(config), sink_(sink) {
    mark_.source = std::make_shared<base::Source>(base::Source{file.string(), ""});
  }

  std::optional<ReadResult> run() {
    base::Attempt<Model> read = read_messages(file_);
    if (!read) return complain("", read.refusal().why);
    Model model = std::move(read).value();
    choose_outputs(model);
    if (has_problems_) return std::nullopt;
    simplify(model);
    join_norms(model);
    join_functions(model);
    Importer importer(model, kSamples, config_.sizes);
    importer.run();
    std::vector<GraphTensorRef> outputs;
    for (const Value& v : model.outputs)
      if (const auto t = importer.output(v.name)) outputs.push_back(*t);
    for (const Importer::Problem& p : importer.problems()) complain(p.where, p.what, p.hint);
    return has_problems_ ? std::nullopt : std::optional(finish(importer, outputs));
  }

 private:
  std::nullopt_t complain(const std::string& where, const std::string& what, const std::string& hint = "") {
    sink_.add(mark_, where, what, hint);
    has_problems_ = true;
    return std::nullopt;
  }

  void choose_outputs(Model& model) {
    std::vector<std::string> names;
    for (const Value& v : model.outputs) names.push_back(v.name);
    for (const std::string& chosen : config_.outputs)
      if (std::ranges::find(names, chosen) == names.end())
        complain("", fmt::format("no output is called \"{}\"", chosen), base::suggest(chosen, names));
    if (!config_.outputs.empty())
      std::erase_if(model.outputs, [&](const Value& v) { return std::ranges::find(config_.outputs, v.name) == config_.outputs.end(); });
    if (model.outputs.empty() && !has_problems_) complain("", "the model puts nothing out");
    for (Value& v : model.outputs) {
      names_.push_back(v.name);
      v.name = before_log_softmax(model, v.name);
    }
  }

  std::optional<ReadResult> finish(Importer& importer, const std::vector<GraphTensorRef>& outputs) {
    Draft& draft = importer.draft();
    ReadResult result;
    std::vector<GraphTensorRef> losses;
    // Biases first: they make linear layers of what follows them.
    join_linears(draft, outputs);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const Loss loss = config_.loss.value_or(ends_in_linear(draft, outputs[o]) ? Loss::cross_entropy : Loss::squared_error);
      const std::string suffix = outputs.size() > 1 ? "." + names_[o] : "";
      try {
        losses.push_back(add_loss(importer, outputs[o], loss, suffix));
      } catch (const Refused& r) { complain(names_[o], r.why, r.hint); }
      result.notes.push_back(
          fmt::format("the loss of the output \"{}\" is {}, which training needs and the file does not have", names_[o],
                      loss == Loss::cross_entropy ? "the cross entropy with labels" : "the squared error against targets"));
    }
    if (has_problems_) return std::nullopt;
    (void)join_attention(draft);
    result.graph = graph_of(draft, file_.stem().string(), losses);
    if (result.graph.parameters() == 0) return complain("", "the model has no weights: there is nothing to train");
    try {
      for (const std::int64_t batch : {2, 3}) (void)with_batch(result.graph, batch);
    } catch (const ShapeError& e) {
      return complain("", fmt::format("the model cannot be made for another batch: {}", e.what()),
                      "export it with a free first dim of its inputs (dynamic_axes)");
    }
    result.notes.insert(result.notes.end(), importer.notes().begin(), importer.notes().end());
    return result;
  }

  std::filesystem::path file_;
  const ReadConfig& config_;
  base::Diagnostics& sink_;
  base::Mark mark_;
  std::vector<std::string> names_;  // of the outputs, as the file has them
  bool has_problems_ = false;
};

}  // namespace

std::optional<ReadResult> read_onnx(const std::filesystem::path& file, const ReadConfig& config, base::Diagnostics& sink) {
  return Reader(file, config, sink).run();
}

}  // namespace pcg::models::onnx
