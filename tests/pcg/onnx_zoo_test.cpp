// The classic networks of the ONNX model zoo, written as its files write them: opset 9, a batch of one, weights by ConstantOfShape, norms
// over channels, pools padded behind. Parameters are those of the networks as published.
#include <doctest/doctest.h>

#include "tests/pcg/onnx_reading.hpp"

using namespace onnx_test;

namespace {

class ZooNetwork {
 public:
  explicit ZooNetwork(std::int64_t image) { m_.input("data_0", {1, 3, image, image}); }

  std::string conv(const std::string& x, Sizes kernel, int stride, int pad, int groups = 1) {
    const int side = static_cast<int>(kernel[2]);
    const std::string w = weight(kernel), b = weight({kernel[0]});
    const std::string y = m_.node(name(), "Conv", {x, w, b});
    m_.with("kernel_shape", Sizes{side, side}).with("strides", Sizes{stride, stride}).with("pads", Sizes{pad, pad, pad, pad});
    m_.with("group", groups);
    return m_.node(name(), "Relu", {y});
  }
  std::string pool(const std::string& x, const std::string& type, int side, int stride, const Sizes& pads) {
    const std::string y = m_.node(name(), type, {x});
    m_.with("kernel_shape", Sizes{side, side}).with("strides", Sizes{stride, stride}).with("pads", pads);
    return y;
  }
  std::string norm(const std::string& x) {
    const std::string y = m_.node(name(), "LRN", {x});
    m_.with("size", 5).with("alpha", 0.0001F).with("beta", 0.75F);
    return y;
  }
  std::string flat(const std::string& x, std::int64_t width) { return m_.node(name(), "Reshape", {x, m_.integers(name(), {1, width})}); }
  std::string dense(const std::string& x, std::int64_t in, std::int64_t out) {
    const std::string w = weight({out, in}), b = weight({out});
    const std::string y = m_.node(name(), "Gemm", {x, w, b});
    m_.with("transB", 1);
    return y;
  }
  std::string node(const std::string& type, const std::vector<std::string>& inputs) { return m_.node(name(), type, inputs); }
  std::string joined(const std::vector<std::string>& inputs) {
    const std::string y = node("Concat", inputs);
    m_.with("axis", 1);
    return y;
  }
  OnnxModel ends(const std::string& x) {
    node("Softmax", {x});
    m_.ends("prob_1");
    return m_;
  }

 private:
  std::string name() { return fmt::format("n{}", number_++); }
  std::string weight(const Sizes& sizes) { return m_.node(name(), "ConstantOfShape", {m_.integers(name(), sizes)}); }

  OnnxModel m_{9};
  int number_ = 0;
};

// AlexNet as Caffe has it, with norms before the pools; CaffeNet has them behind, and R-CNN 200 classes.
OnnxModel alexnet(bool norms_first, std::int64_t classes) {
  ZooNetwork n(224);
  const auto shrink = [&](const std::string& x) {
    const Sizes none{0, 0, 0, 0};
    return norms_first ? n.pool(n.norm(x), "MaxPool", 3, 2, none) : n.norm(n.pool(x, "MaxPool", 3, 2, none));
  };
  std::string x = shrink(n.conv("data_0", {96, 3, 11, 11}, 4, 0));
  x = shrink(n.conv(x, {256, 48, 5, 5}, 1, 2, 2));
  x = n.conv(x, {384, 256, 3, 3}, 1, 1);
  x = n.conv(x, {384, 192, 3, 3}, 1, 1, 2);
  x = n.conv(x, {256, 192, 3, 3}, 1, 1, 2);
  x = n.flat(n.pool(x, "MaxPool", 3, 2, {0, 0, 1, 1}), 256 * 6 * 6);
  x = n.node("Dropout", {n.node("Relu", {n.dense(x, 9216, 4096)})});
  x = n.node("Dropout", {n.node("Relu", {n.dense(x, 4096, 4096)})});
  return n.ends(n.dense(x, 4096, classes));
}

OnnxModel squeezenet() {
  ZooNetwork n(224);
  std::int64_t width = 64;
  std::string x = n.pool(n.conv("data_0", {64, 3, 3, 3}, 2, 0), "MaxPool", 3, 2, {0, 0, 0, 0});
  const auto fire = [&](std::int64_t squeezed, std::int64_t half) {
    const std::string s = n.conv(x, {squeezed, width, 1, 1}, 1, 0);
    x = n.joined({n.conv(s, {half, squeezed, 1, 1}, 1, 0), n.conv(s, {half, squeezed, 3, 3}, 1, 1)});
    width = 2 * half;
  };
  fire(16, 64), fire(16, 64);
  x = n.pool(x, "MaxPool", 3, 2, {0, 0, 0, 0});
  fire(32, 128), fire(32, 128);
  x = n.pool(x, "MaxPool", 3, 2, {0, 0, 0, 0});
  fire(48, 192), fire(48, 192), fire(64, 256), fire(64, 256);
  x = n.conv(n.node("Dropout", {x}), {1000, 512, 1, 1}, 1, 0);
  return n.ends(n.node("GlobalAveragePool", {x}));
}

OnnxModel googlenet() {
  ZooNetwork n(224);
  std::string x = n.pool(n.conv("data_0", {64, 3, 7, 7}, 2, 3), "MaxPool", 3, 2, {0, 0, 1, 1});
  x = n.conv(n.conv(n.norm(x), {64, 64, 1, 1}, 1, 0), {192, 64, 3, 3}, 1, 1);
  x = n.pool(n.norm(x), "MaxPool", 3, 2, {0, 0, 1, 1});
  std::int64_t width = 192;
  const auto inception = [&](std::int64_t one, Sizes three, Sizes five, std::int64_t pooled) {
    x = n.joined({n.conv(x, {one, width, 1, 1}, 1, 0), n.conv(n.conv(x, {three[0], width, 1, 1}, 1, 0), {three[1], three[0], 3, 3}, 1, 1),
                  n.conv(n.conv(x, {five[0], width, 1, 1}, 1, 0), {five[1], five[0], 5, 5}, 1, 2),
                  n.conv(n.pool(x, "MaxPool", 3, 1, {1, 1, 1, 1}), {pooled, width, 1, 1}, 1, 0)});
    width = one + three[1] + five[1] + pooled;
  };
  inception(64, {96, 128}, {16, 32}, 32), inception(128, {128, 192}, {32, 96}, 64);
  x = n.pool(x, "MaxPool", 3, 2, {0, 0, 1, 1});
  inception(192, {96, 208}, {16, 48}, 64), inception(160, {112, 224}, {24, 64}, 64), inception(128, {128, 256}, {24, 64}, 64);
  inception(112, {144, 288}, {32, 64}, 64), inception(256, {160, 320}, {32, 128}, 128);
  x = n.pool(x, "MaxPool", 3, 2, {0, 0, 1, 1});
  inception(256, {160, 320}, {32, 128}, 128), inception(384, {192, 384}, {48, 128}, 128);
  x = n.node("Dropout", {n.pool(x, "AveragePool", 7, 1, {0, 0, 0, 0})});
  return n.ends(n.dense(n.flat(x, 1024), 1024, 1000));
}

}  // namespace

TEST_CASE("AlexNet, CaffeNet and R-CNN, GoogLeNet, SqueezeNet are read with the parameters that they were published with") {
  CHECK(load(alexnet(true, 1000), 4).parameters() == 60'965'224);
  CHECK(load(alexnet(false, 1000), 4).parameters() == 60'965'224);
  CHECK(load(alexnet(false, 200), 4).parameters() == 60'965'224 - 800 * 4097);
  CHECK(load(googlenet(), 4).parameters() == 6'998'552);
  CHECK(load(squeezenet(), 4).parameters() == 1'235'496);
}

TEST_CASE("ShuffleNet's exchange of channels and DenseNet's growth are read") {
  OnnxModel m(9);
  m.input("x", {1, 24, 8, 8});
  const std::string grouped = m.node("g", "Conv", {"x", m.weight("wg", {24, 8, 1, 1})});
  m.with("kernel_shape", Sizes{1, 1}).with("group", 3);
  const std::string split = m.node("r", "Reshape", {grouped, m.integers("to", {1, 3, 8, 8, 8})});
  const std::string turned = m.node("t", "Transpose", {split});
  m.with("perm", Sizes{0, 2, 1, 3, 4});
  const std::string back = m.node("r2", "Reshape", {turned, m.integers("from", {1, 24, 8, 8})});
  const std::string deep = m.node("d", "Conv", {back, m.weight("wd", {24, 1, 3, 3})});
  m.with("kernel_shape", Sizes{3, 3}).with("pads", Sizes{1, 1, 1, 1}).with("group", 24);
  const std::string grown = m.node("c", "Concat", {deep, back});
  m.with("axis", 1);
  m.node("b", "BatchNormalization", {grown, m.weight("bg", {48}), m.weight("bb", {48}), m.weight("bm", {48}), m.weight("bv", {48})});
  m.ends();
  CHECK(load(m, 4).parameters() == 24 * 8 + 24 * 9 + 2 * 48);
}
