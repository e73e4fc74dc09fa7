#include "profiles/imports/traces/trace.hpp"

namespace imports {

std::string_view to_text(TraceFormat f) {
  switch (f) {
    case TraceFormat::kineto: return "kineto";
    case TraceFormat::nsight_systems: return "nsight-systems";
    case TraceFormat::nccl_tests: return "nccl-tests";
    case TraceFormat::chakra: return "chakra";
    case TraceFormat::collector: return "foreshard-collect";
  }
  return "";
}

std::optional<base::Bytes> full_buffer(profiles::CollectiveKind kind, base::Bytes sent, int group_size) {
  if (kind != profiles::CollectiveKind::all_gather) return sent;
  if (group_size < 1) return std::nullopt;
  return sent * group_size;
}

double bus_factor(profiles::CollectiveKind kind, int group_size) {
  const double others = static_cast<double>(group_size - 1) / group_size;
  switch (kind) {
    case profiles::CollectiveKind::all_reduce: return 2 * others;
    case profiles::CollectiveKind::all_gather:
    case profiles::CollectiveKind::reduce_scatter:
    case profiles::CollectiveKind::all_to_all: return others;
    case profiles::CollectiveKind::broadcast:
    case profiles::CollectiveKind::send: return 1;
  }
  return 1;
}

}  // namespace imports
