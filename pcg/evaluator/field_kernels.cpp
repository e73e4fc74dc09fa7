#include "pcg/evaluator/field_kernels.hpp"

#include <algorithm>

#include "pcg/evaluator/field.hpp"

namespace pcg::field {
namespace {

constexpr std::uint64_t kMaximumTag = 201;                   // keeps the stand-in for a maximum apart from other hashes
constexpr std::uint64_t kOutside = std::uint64_t{1} << 40U;  // marks padding in a window's hash: no element is so large

// Visits the window of output (oh, ow) on an h x w plane: visit(kernel index, plane index), -1 outside.
template <class Visit>
void walk(const Windows& k, std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow, Visit&& visit) {
  const std::int64_t top = (k.first_row + oh) * k.rows.stride - k.rows.padding;
  const std::int64_t left = (k.first_column + ow) * k.columns.stride - k.columns.padding;
  for (std::int64_t i = 0; i < k.rows.kernel; ++i)
    for (std::int64_t j = 0; j < k.columns.kernel; ++j) {
      const std::int64_t y = top + i, x = left + j;
      visit(i * k.columns.kernel + j, y < 0 || y >= h || x < 0 || x >= w ? -1 : y * w + x);
    }
}

std::uint32_t average_of(const Windows& windows, Sizes x, const std::uint32_t* plane, std::int64_t oh, std::int64_t ow,
                         std::uint32_t share) {
  std::uint64_t sum = 0;
  walk(windows, x[2], x[3], oh, ow, [&](std::int64_t, std::int64_t p) { sum += p < 0 ? 0 : plane[p]; });
  return multiply(reduce(sum), share);
}

std::uint32_t maximum_of(const Windows& windows, Sizes x, const std::uint32_t* plane, std::int64_t oh, std::int64_t ow) {
  Hash all(kMaximumTag);
  walk(windows, x[2], x[3], oh, ow, [&](std::int64_t, std::int64_t p) { all(p < 0 ? kOutside : plane[p]); });
  return all.element();
}

// Four products of elements are below 2^64, so that they are added up before they are folded.
std::uint64_t dot(const std::uint32_t* x, const std::uint32_t* w, std::int64_t n) {
  const auto product = [&](std::int64_t i) { return std::uint64_t{x[i]} * w[i]; };
  std::uint64_t sum = 0, rest = 0;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) sum += fold(product(i) + product(i + 1) + product(i + 2) + product(i + 3));
  for (; i < n; ++i) rest += product(i);
  return sum + fold(rest);
}

// Adds x[k] . w[k, n] to sums[n].
void add_rows_times(const std::uint32_t* x, std::int64_t k, std::int64_t n, const std::uint32_t* w, std::uint64_t* sums) {
  std::int64_t l = 0;
  for (; l + 4 <= k; l += 4) {
    const std::uint64_t a = x[l], b = x[l + 1], c = x[l + 2], d = x[l + 3];
    const std::uint32_t *wa = w + l * n, *wb = wa + n, *wc = wb + n, *wd = wc + n;
    for (std::int64_t j = 0; j < n; ++j) sums[j] += fold(a * wa[j] + b * wb[j] + c * wc[j] + d * wd[j]);
  }
  for (; l < k; ++l)
    for (std::int64_t j = 0; j < n; ++j) sums[j] += fold(std::uint64_t{x[l]} * w[l * n + j]);
}

}  // namespace

Around::Around(Sizes sizes, std::size_t d) : axis(sizes[d]) {
  for (std::size_t i = 0; i < d; ++i) outer *= sizes[i];
  for (std::size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
}

void add_product(const ProductSizes& s, Elements x, Elements w, Sums sums) {
  for (std::int64_t i = 0; i < s.m; ++i) {
    const std::uint32_t* row = x.data() + i * s.k;
    std::uint64_t* to = sums.data() + i * s.n;
    if (s.transposed)
      for (std::int64_t j = 0; j < s.n; ++j) to[j] += dot(row, w.data() + j * s.k, s.k);
    else add_rows_times(row, s.k, s.n, w.data(), to);
  }
}

void add_convolution(const Windows& windows, const Images& x, const Images& w, Sizes out, Sums sums) {
  const std::int64_t per_group = w.sizes[1], outs = out[1] / (x.sizes[1] / per_group);  // channels of one group
  const std::int64_t area = w.sizes[2] * w.sizes[3], plane = x.sizes[2] * x.sizes[3], results = out[2] * out[3];
  std::vector<std::uint32_t> window(static_cast<std::size_t>(per_group * area));  // all channels of it, as a kernel lies
  for (std::int64_t b = 0; b < out[0]; ++b)
    for (std::int64_t first = 0; first < out[1]; first += outs)
      for (std::int64_t at = 0; at < results; ++at) {
        const std::uint32_t* in = x.elements.data() + (b * x.sizes[1] + first / outs * per_group) * plane;
        walk(windows, x.sizes[2], x.sizes[3], at / out[3], at % out[3], [&](std::int64_t k, std::int64_t p) {
          for (std::int64_t c = 0; c < per_group; ++c) window[static_cast<std::size_t>(c * area + k)] = p < 0 ? 0 : in[c * plane + p];
        });
        for (std::int64_t o = first; o < first + outs; ++o)
          sums[static_cast<std::size_t>((b * out[1] + o) * results + at)] +=
              dot(window.data(), w.elements.data() + o * per_group * area, per_group * area);
      }
}

void pool(Pool2d::Kind kind, const Windows& windows, const Images& x, Sizes out, Result y) {
  const std::uint32_t share = inverse(static_cast<std::uint32_t>(windows.rows.kernel * windows.columns.kernel));
  std::size_t to = 0;
  for (std::int64_t image = 0; image < out[0] * out[1]; ++image) {
    const std::uint32_t* plane = x.elements.data() + image * x.sizes[2] * x.sizes[3];
    for (std::int64_t oh = 0; oh < out[2]; ++oh)
      for (std::int64_t ow = 0; ow < out[3]; ++ow)
        y[to++] = kind == Pool2d::Kind::average ? average_of(windows, x.sizes, plane, oh, ow, share)
                                                : maximum_of(windows, x.sizes, plane, oh, ow);
  }
}

void sum_along(const Around& a, Elements x, Result y) {
  for (std::int64_t o = 0; o < a.outer; ++o)
    for (std::int64_t i = 0; i < a.inner; ++i) {
      std::uint64_t sum = 0;
      for (std::int64_t l = 0; l < a.axis; ++l) sum += x[a.at(o, l, i)];
      y[static_cast<std::size_t>(o * a.inner + i)] = reduce(sum);
    }
}

void add_rows(std::span<const std::int64_t> rows, Elements table, std::size_t width, std::size_t bag, Result y) {
  const auto count = static_cast<std::int64_t>(table.size() / width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= count) continue;
    const Elements row = table.subspan(static_cast<std::size_t>(rows[i]) * width, width);
    for (std::size_t j = 0; j < width; ++j) {
      std::uint32_t& to = y[i / bag * width + j];
      to = add(to, row[j]);
    }
  }
}

void copy_layers(const Around& a, Elements from, std::int64_t begin, const Around& b, Result to, std::int64_t at, std::int64_t length) {
  for (std::int64_t o = 0; o < a.outer; ++o)
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(a.at(o, begin, 0)), length * a.inner,
                to.begin() + static_cast<std::ptrdiff_t>(b.at(o, at, 0)));
}

void permute(Sizes in, Elements x, std::span<const int> permutation, Result y) {
  std::vector<std::int64_t> step, size;  // of each dim of y: its step in x, and its size
  for (const int from : permutation) {
    step.push_back(Around(in, static_cast<std::size_t>(from)).inner);
    size.push_back(in[static_cast<std::size_t>(from)]);
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), index = 0;
    for (std::size_t d = in.size(); d-- > 0;) {
      index += rest % size[d] * step[d];
      rest /= size[d];
    }
    y[i] = x[static_cast<std::size_t>(index)];
  }
}

}  // namespace pcg::field
