// Convolutions: the layers of two networks, and random ones around them.
#include <algorithm>

#include "tools/collector/grid_convolution.hpp"
#include "tools/collector/sampling.hpp"

namespace collector {
namespace {

// One of each sort of layer; `samples` is set later. ResNeXt-50 32x4d (Xie et al., arXiv 1611.05431, table 1) and Inception-v3
// (Szegedy et al., arXiv 1512.00567, table 1), as pcg/models/families/networks.cpp builds them.
std::vector<ConvolutionShape> published_layers() {
  return {{1, 3, 224, 224, 64, 7, 7, 2, 3, 3, 1},   {1, 64, 56, 56, 128, 1, 1, 1, 0, 0, 1},   {1, 128, 56, 56, 128, 3, 3, 1, 1, 1, 32},
          {1, 128, 56, 56, 256, 1, 1, 1, 0, 0, 1},  {1, 256, 56, 56, 512, 1, 1, 2, 0, 0, 1},  {1, 256, 56, 56, 256, 3, 3, 2, 1, 1, 32},
          {1, 256, 28, 28, 256, 3, 3, 1, 1, 1, 32}, {1, 512, 28, 28, 256, 1, 1, 1, 0, 0, 1},  {1, 512, 14, 14, 512, 3, 3, 1, 1, 1, 32},
          {1, 1024, 14, 14, 512, 1, 1, 1, 0, 0, 1}, {1, 512, 14, 14, 1024, 1, 1, 1, 0, 0, 1}, {1, 1024, 14, 14, 2048, 1, 1, 2, 0, 0, 1},
          {1, 1024, 7, 7, 1024, 3, 3, 1, 1, 1, 32}, {1, 2048, 7, 7, 1024, 1, 1, 1, 0, 0, 1},  {1, 3, 299, 299, 32, 3, 3, 2, 0, 0, 1},
          {1, 32, 149, 149, 32, 3, 3, 1, 0, 0, 1},  {1, 32, 147, 147, 64, 3, 3, 1, 1, 1, 1},  {1, 80, 73, 73, 192, 3, 3, 1, 0, 0, 1},
          {1, 48, 35, 35, 64, 5, 5, 1, 2, 2, 1},    {1, 96, 35, 35, 96, 3, 3, 1, 1, 1, 1},    {1, 288, 35, 35, 384, 3, 3, 2, 0, 0, 1},
          {1, 128, 17, 17, 128, 1, 7, 1, 0, 3, 1},  {1, 160, 17, 17, 192, 7, 1, 1, 3, 0, 1},  {1, 768, 17, 17, 192, 1, 1, 1, 0, 0, 1},
          {1, 192, 17, 17, 320, 3, 3, 2, 0, 0, 1},  {1, 384, 8, 8, 384, 1, 3, 1, 0, 1, 1},    {1, 448, 8, 8, 384, 3, 3, 1, 1, 1, 1},
          {1, 1280, 8, 8, 320, 1, 1, 1, 0, 0, 1},   {1, 2048, 8, 8, 192, 1, 1, 1, 0, 0, 1}};
}

// Squares of 1, 3, 5, 7; planes 7 to 112; channels and samples in every form; every fifth in groups of 4 to 32.
ConvolutionShape random_layer(std::uint64_t index) {
  const auto size = [&](int base, int form_base, std::int64_t lo, std::int64_t hi) {
    return in_form(log_uniform(halton(index, base), lo, hi), form_of(halton(index, form_base)));
  };
  ConvolutionShape s;
  s.samples = log_uniform(halton(index, 2), 1, 256);
  s.channels = size(3, 11, 16, 2048);
  s.out = size(5, 13, 16, 2048);
  s.height = s.width = log_uniform(halton(index, 7), 7, 112);
  constexpr int kSides[] = {3, 1, 3, 5, 1, 7, 3};
  s.kernel_h = s.kernel_w = kSides[index % 7];
  s.pad_h = s.pad_w = s.kernel_h / 2;
  s.stride = index % 4 == 3 ? 2 : 1;
  if (index % 5 == 4) {
    s.groups = 4 << (index / 5 % 4);
    s.channels = multiple_of(s.channels, s.groups);
    s.out = multiple_of(s.out, s.groups);
  }
  return s;
}

void add_products(std::vector<Case>& cases, Precision p, const ConvolutionShape& s) {
  for (const Operation o : {Operation::convolution_forward, Operation::convolution_input_gradient, Operation::convolution_weight_gradient})
    cases.push_back({o, p, s});
}

}  // namespace

std::vector<Case> convolution_cases(Precision p, std::uint64_t seed) {
  const std::vector<ConvolutionShape> layers = published_layers();
  std::vector<Case> cases;
  std::uint64_t drawn = 32 + 1009 * seed;
  for (const std::int64_t samples : {32, 4, 128, 16, 64, 1, 256})
    for (std::size_t i = 0; i < layers.size(); ++i) {
      ConvolutionShape s = layers[i * 10 % layers.size()];  // 10 is prime to 29: early and late layers alternate
      s.samples = samples;
      add_products(cases, p, s);
      add_products(cases, p, random_layer(drawn++));
    }
  return cases;
}

}  // namespace collector
