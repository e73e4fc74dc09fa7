#include "profiles/measured/tables.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>

#include "profiles/fitted.hpp"
#include "profiles/kinds.hpp"

namespace measured {
namespace {

constexpr std::array<std::string_view, 10> kKernelColumns = {"device", "precision", "kind",  "batch", "m",
                                                             "n",      "k",         "flops", "bytes", "seconds"};

bool is_sized(pcg::KernelKind kind) {
  return kind == pcg::KernelKind::matmul || kind == pcg::KernelKind::convolution || pcg::is_attention(kind);
}

std::int64_t size_of(const CsvTable& t, const CsvRow& row, std::string_view column) {
  const auto x = t.number(row, column);
  if (!x || *x < 0 || *x > 1e15 || *x != static_cast<double>(static_cast<std::int64_t>(*x)))
    t.complain(row, fmt::format("{}: \"{}\" is no size", column, t.cell(row, column)));
  return static_cast<std::int64_t>(*x);
}

// Without other figures, its FLOPs and bytes are those of its sizes.
pcg::Kernel product(const CsvTable& t, const CsvRow& row, pcg::Precision precision) {
  pcg::Kernel p{.batch = size_of(t, row, "batch"), .m = size_of(t, row, "m"), .n = size_of(t, row, "n"), .k = size_of(t, row, "k")};
  p.tensor_cores = true;
  const auto batch = static_cast<double>(p.batch), m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  p.flops = base::Flops(2 * batch * m * n * k);
  p.bytes = pcg::element_bytes(pcg::Element::real, precision) * (batch * (m * k + k * n + m * n));
  return p;
}

KernelMeasurement kernel_of(const CsvTable& t, const CsvRow& row) {
  const auto precision = profiles::find_precision(t.cell(row, "precision"));
  if (!precision)
    t.complain(row, fmt::format("precision: \"{}\" is none of fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4", t.cell(row, "precision")));
  const auto kind = profiles::find_kind(t.cell(row, "kind"));
  if (!kind)
    t.complain(row, fmt::format("kind: \"{}\" is no kind of kernel", t.cell(row, "kind")), "e.g. matmul, attention, norm, elementwise");
  pcg::Kernel k = is_sized(*kind) ? product(t, row, *precision) : pcg::Kernel{};
  k.kind = *kind;
  if (const auto flops = t.number(row, "flops")) k.flops = base::Flops(*flops);
  if (const auto bytes = t.number(row, "bytes")) k.bytes = base::Bytes(*bytes);
  if (k.flops.value() < 0 || k.bytes.value() < 0) t.complain(row, "negative work");
  return {t.cell(row, "device"), *precision, k, base::Seconds(t.number(row, "seconds").value_or(0)), t.source(row)};
}

}  // namespace

bool read_kernel_table(const CsvTable& t, Measurements& into) {
  if (!t.has_all(kKernelColumns)) return false;
  LeftOutRows left_out(t, into);
  for (const CsvRow& row : t.rows()) {
    KernelMeasurement m = kernel_of(t, row);
    if (is_sized(m.kernel.kind) ? !profiles::is_product(m.kernel) : !(m.kernel.bytes.value() > 0)) left_out.add("a size is 0");
    else if (!(m.time.value() > 0)) left_out.add("no time");
    else into.kernels.push_back(std::move(m));
  }
  return true;
}

std::string to_csv(const std::vector<KernelMeasurement>& kernels) {
  std::string text = fmt::format("{}\n", fmt::join(kKernelColumns, ","));
  for (const KernelMeasurement& x : kernels) {
    const pcg::Kernel& k = x.kernel;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", x.device, pcg::to_text(x.precision), pcg::to_text(k.kind), k.batch, k.m, k.n,
                        k.k, k.flops.value(), k.bytes.value(), x.time.value());
  }
  return text;
}

}  // namespace measured
