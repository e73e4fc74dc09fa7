#pragma once
// Convolutional networks for images. Private to pcg/models.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pcg/models/models.hpp"

namespace pcg::models {

// ResNet with bottleneck blocks (He et al., arXiv 1512.03385); stage i has entry, width and out times 2^i.
struct ResidualConfig {
  std::string name;
  std::vector<int> depths{3, 4, 6, 3};  // blocks per stage
  std::int64_t stem = 64;               // channels of the 7x7 convolution
  std::int64_t entry = 64;              // channels after a block's first 1x1, in the first stage
  std::int64_t width = 64;              // and after its 3x3
  std::int64_t out = 256;               // and after the second 1x1
  int groups = 1;
  std::int64_t classes = 1000;
  bool proxy = false;  // as in Unity's artifact: no shortcuts, no norms, biases, one relu at the end besides those inside convolutions
};

// ResNeXt-50 32x4d (Xie et al., arXiv 1611.05431), the wide ResNets of Alpa's evaluation (OSDI'22, table 7), Inception-v3.
[[nodiscard]] std::map<std::string, std::function<Graph(std::int64_t batch)>, std::less<>> convolutional_networks();

// Inputs "images" [batch, 3, 224, 224] and "labels" [batch].
[[nodiscard]] Graph residual_network(const ResidualConfig& config, std::int64_t batch);
// Inputs "images" [batch, 3, 299, 299] and "labels" [batch]; without the auxiliary head. proxy: as in Unity's artifact: no norms, biases,
// planes of 36 x 36 after the stem instead of 35, ten classes.
[[nodiscard]] Graph inception_v3(std::int64_t batch, bool proxy);

}  // namespace pcg::models
