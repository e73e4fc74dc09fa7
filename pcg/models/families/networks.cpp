// Convolutional networks for images: residual networks (ResNeXt, wide ResNet) and Inception-v3. As published, every convolution is followed
// by a batch norm and, but where branches are added, a relu; none has a bias. As proxies (Unity's artifact) convolutions have biases and
// their relu inside, and there are no norms.
#include <fmt/core.h>

#include <vector>

#include "pcg/models/families/layers.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {
namespace {

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

struct Kernel {
  Window rows, columns;
  int groups = 1;
};
constexpr Kernel kOne{};
Kernel square(int size, int stride = 1, int pad = 0) {
  const Window both{.kernel = size, .stride = stride, .padding = pad};
  return {both, both};
}
Kernel row(int size) { return {.columns = {.kernel = size, .padding = size / 2}}; }
Kernel column(int size) { return {.rows = {.kernel = size, .padding = size / 2}}; }

class Network {
 public:
  Network(GraphBuilder& b, GraphTensorRef x, bool proxy) : b_(b), x_(x), proxy_(proxy) {}

  Network normed(const std::string& name, std::int64_t out, Kernel k) const {
    const GraphTensorRef y = b_.add(name, operation(out, k, Activation::none), {x_});
    return with(proxy_ ? y : b_.add(name + ".norm", BatchNorm{}, {y}));
  }
  Network relu(const std::string& name) const { return with(b_.add(name + ".relu", Unary{.kind = Unary::Kind::relu}, {x_})); }
  Network conv(const std::string& name, std::int64_t out, Kernel k) const {
    return proxy_ ? with(b_.add(name, operation(out, k, Activation::relu), {x_})) : normed(name, out, k).relu(name);
  }
  Network max_pool(const std::string& name, int pad) const { return pool(name, Pool2d::Kind::max, 2, pad); }
  Network average_pool(const std::string& name) const { return pool(name, Pool2d::Kind::average, 1, 1); }
  Network plus(const std::string& name, const Network& other) const {
    return with(b_.add(name, Binary{.kind = Binary::Kind::add}, {x_, other.x_}));
  }
  Network concat(const std::string& name, const std::vector<Network>& parts) const {
    std::vector<GraphTensorRef> tensors;
    for (const Network& p : parts) tensors.push_back(p.x_);
    return with(b_.add(name, Concat{.axis = 1}, tensors));
  }
  [[nodiscard]] std::int64_t channels() const { return b_.shape(x_).sizes[1]; }

  // Mean over the plane, a dense layer, the loss.
  void classify(std::int64_t classes, double dropout) const {
    GraphTensorRef y = b_.add("head.pool", Pool2d{.kind = Pool2d::Kind::average, .rows = {.kernel = 0}, .columns = {.kernel = 0}}, {x_});
    y = b_.add("head.flat", Reshape{.sizes = {0, -1}}, {y});
    if (dropout > 0) y = b_.add("head.dropout", Dropout{.rate = dropout}, {y});
    add_classifier(b_, classes, y);
  }

 private:
  Network pool(const std::string& name, Pool2d::Kind kind, int stride, int pad) const {
    const Window both{.kernel = 3, .stride = stride, .padding = pad};
    return with(b_.add(name, Pool2d{.kind = kind, .rows = both, .columns = both}, {x_}));
  }
  [[nodiscard]] Conv2d operation(std::int64_t out, Kernel k, Activation activation) const {
    return {.out = out, .rows = k.rows, .columns = k.columns, .groups = k.groups, .has_bias = proxy_, .activation = activation};
  }
  [[nodiscard]] Network with(GraphTensorRef x) const { return {b_, x, proxy_}; }

  GraphBuilder& b_;
  GraphTensorRef x_;
  bool proxy_ = false;
};

Network images(GraphBuilder& b, std::int64_t batch, std::int64_t size, bool proxy = false) {
  return {b, b.input("images", {.sizes = {batch, 3, size, size}}), proxy};
}

// 1x1, 3x3 in groups, 1x1; added to x, which is projected where the shape changes.
Network bottleneck(const std::string& name, const Network& x, const ResidualConfig& c, std::int64_t scale, int stride) {
  Kernel middle = square(3, stride, 1);
  middle.groups = c.groups;
  const std::int64_t out = c.out * scale;
  const Network y =
      x.conv(name + ".conv1", c.entry * scale, kOne).conv(name + ".conv2", c.width * scale, middle).normed(name + ".conv3", out, kOne);
  if (c.proxy) return y;
  const bool same = stride == 1 && x.channels() == out;
  const Network shortcut = same ? x : x.normed(name + ".shortcut", out, square(1, stride));
  return y.plus(name + ".residual", shortcut).relu(name);
}

// --- Inception-v3 (Szegedy et al., arXiv 1512.00567), with the sizes of torchvision's inception_v3 ---

Network inception_a(const std::string& n, const Network& x, std::int64_t pool_width) {
  return x.concat(n, {x.conv(n + ".one", 64, kOne), x.conv(n + ".five1", 48, kOne).conv(n + ".five2", 64, square(5, 1, 2)),
                      x.conv(n + ".three1", 64, kOne).conv(n + ".three2", 96, square(3, 1, 1)).conv(n + ".three3", 96, square(3, 1, 1)),
                      x.average_pool(n + ".pool").conv(n + ".pooled", pool_width, kOne)});
}
Network inception_b(const std::string& n, const Network& x) {
  return x.concat(n, {x.conv(n + ".three", 384, square(3, 2)),
                      x.conv(n + ".double1", 64, kOne).conv(n + ".double2", 96, square(3, 1, 1)).conv(n + ".double3", 96, square(3, 2)),
                      x.max_pool(n + ".pool", 0)});
}
Network inception_c(const std::string& n, const Network& x, std::int64_t width) {
  const Network seven = x.conv(n + ".seven1", width, kOne).conv(n + ".seven2", width, row(7)).conv(n + ".seven3", 192, column(7));
  const Network twice = x.conv(n + ".double1", width, kOne)
                            .conv(n + ".double2", width, column(7))
                            .conv(n + ".double3", width, row(7))
                            .conv(n + ".double4", width, column(7))
                            .conv(n + ".double5", 192, row(7));
  return x.concat(n, {x.conv(n + ".one", 192, kOne), seven, twice, x.average_pool(n + ".pool").conv(n + ".pooled", 192, kOne)});
}
Network inception_d(const std::string& n, const Network& x) {
  const Network seven = x.conv(n + ".seven1", 192, kOne)
                            .conv(n + ".seven2", 192, row(7))
                            .conv(n + ".seven3", 192, column(7))
                            .conv(n + ".seven4", 192, square(3, 2));
  return x.concat(n, {x.conv(n + ".three1", 192, kOne).conv(n + ".three2", 320, square(3, 2)), seven, x.max_pool(n + ".pool", 0)});
}
// A 3x3 spread over a row and a column: joined at once as published, with the other branches in the proxy.
std::vector<Network> spread(const std::string& n, const Network& x, bool proxy) {
  const std::vector<Network> parts{x.conv(n + ".row", 384, row(3)), x.conv(n + ".column", 384, column(3))};
  return proxy ? parts : std::vector<Network>{x.concat(n, parts)};
}
Network inception_e(const std::string& n, const Network& x, bool proxy) {
  std::vector<Network> branches{x.conv(n + ".one", 320, kOne)};
  for (const Network& part : spread(n + ".three", x.conv(n + ".three1", 384, kOne), proxy)) branches.push_back(part);
  const Network twice = x.conv(n + ".double1", 448, kOne).conv(n + ".double2", 384, square(3, 1, 1));
  for (const Network& part : spread(n + ".double", twice, proxy)) branches.push_back(part);
  branches.push_back(x.average_pool(n + ".pool").conv(n + ".pooled", 192, kOne));
  return x.concat(n, branches);
}

// Inputs "images" [batch, 3, 224, 224] and "labels" [batch].
Graph residual_network(const ResidualConfig& c, std::int64_t batch) {
  GraphBuilder b(c.name);
  b.begin_weightless_block("stem");
  std::vector<Network> x{images(b, batch, 224, c.proxy).conv("stem", c.stem, square(7, 2, 3)).max_pool("stem.pool", 1)};
  int layer = 0;
  for (std::size_t stage = 0; stage < c.depths.size(); ++stage) {
    const std::int64_t scale = std::int64_t{1} << stage;
    for (int i = 0; i < c.depths[stage]; ++i, ++layer) {
      b.begin_block(fmt::format("layer {}", layer));
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      x.push_back(bottleneck(fmt::format("layer{}", layer), x.back(), c, scale, stride));
    }
  }
  b.begin_weightless_block("head");
  if (c.proxy) x.push_back(x.back().relu("head"));
  x.back().classify(c.classes, 0);
  return std::move(b).build();
}

// Inputs "images" [batch, 3, 299, 299] and "labels" [batch]; without the auxiliary head. proxy: as in Unity's artifact: no norms, biases,
// planes of 36 x 36 after the stem instead of 35, ten classes.
Graph inception_v3(std::int64_t batch, bool proxy) {
  GraphBuilder b(proxy ? "inception-v3-proxy" : "inception-v3");
  b.begin_weightless_block("stem");
  std::vector<Network> x{images(b, batch, 299, proxy)
                             .conv("stem1", 32, square(3, 2))
                             .conv("stem2", 32, square(3))
                             .conv("stem3", 64, square(3, 1, 1))
                             .max_pool("stem.pool1", 0)};
  x.push_back(x.back().conv("stem4", 80, kOne).conv("stem5", 192, square(3, 1, proxy ? 1 : 0)).max_pool("stem.pool2", 0));
  int layer = 0;
  const auto next = [&] {
    b.begin_block(fmt::format("layer {}", layer));
    return fmt::format("layer{}", layer++);
  };
  for (const std::int64_t width : {32, 64, 64}) x.push_back(inception_a(next(), x.back(), width));
  x.push_back(inception_b(next(), x.back()));
  for (const std::int64_t width : {128, 160, 160, 192}) x.push_back(inception_c(next(), x.back(), width));
  x.push_back(inception_d(next(), x.back()));
  for (int i = 0; i < 2; ++i) x.push_back(inception_e(next(), x.back(), proxy));
  b.begin_weightless_block("head");
  x.back().classify(proxy ? 10 : 1000, proxy ? 0 : 0.5);
  return std::move(b).build();
}

}  // namespace

std::map<std::string, std::function<Graph(std::int64_t)>, std::less<>> convolutional_networks() {
  std::vector<ResidualConfig> residual{{.name = "resnext-50", .entry = 128, .width = 128, .groups = 32},
                                       {.name = "resnext-50-proxy", .entry = 128, .width = 128, .groups = 32, .proxy = true}};
  // Widths are `base` after the first 1x1 and `factor` times that after the 3x3: only so are the published parameter counts met.
  const auto wide = [&](const char* size, std::int64_t base, std::int64_t factor, int third_stage) {
    residual.push_back({.name = fmt::format("wide-resnet-{}", size),
                        .depths = {3, 4, third_stage, 3},
                        .stem = base,
                        .entry = base,
                        .width = factor * base,
                        .out = 4 * base,
                        .classes = 1024});
  };
  wide("250m", 160, 2, 6);
  wide("500m", 224, 2, 6);
  wide("1b", 320, 2, 6);
  wide("2b", 448, 2, 6);
  wide("4b", 640, 2, 6);
  wide("6.8b", 320, 16, 6);
  wide("13b", 320, 16, 23);
  std::map<std::string, std::function<Graph(std::int64_t)>, std::less<>> all{
      {"inception-v3", [](std::int64_t batch) { return inception_v3(batch, /*proxy=*/false); }},
      {"inception-v3-proxy", [](std::int64_t batch) { return inception_v3(batch, /*proxy=*/true); }}};
  for (const ResidualConfig& c : residual) all.emplace(c.name, [c](std::int64_t batch) { return residual_network(c, batch); });
  return all;
}

}  // namespace pcg::models
