#include "pcg/models/families/model_config.hpp"

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

Graph build(const ModelConfig& config, std::int64_t batch) {
  struct Visitor {
    std::int64_t batch;
    Graph operator()(const TransformerConfig& c) const { return transformer(c, batch); }
    Graph operator()(const EncoderDecoderConfig& c) const { return encoder_decoder(c, batch); }
    Graph operator()(const VisionConfig& c) const { return vision_transformer(c, batch); }
    Graph operator()(const ShiftedWindowConfig& c) const { return shifted_window_transformer(c, batch); }
  };
  return std::visit(Visitor{batch}, config);
}

TransformerConfig& layers_of(ModelConfig& config) {
  struct Visitor {
    TransformerConfig& operator()(TransformerConfig& c) const { return c; }
    TransformerConfig& operator()(EncoderDecoderConfig& c) const { return c.layers; }
    TransformerConfig& operator()(VisionConfig& c) const { return c.layers; }
    TransformerConfig& operator()(ShiftedWindowConfig& c) const { return c.layers; }
  };
  return std::visit(Visitor{}, config);
}

}  // namespace pcg::models
