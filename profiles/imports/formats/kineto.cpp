#include "profiles/imports/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "profiles/imports/formats/kineto_events.hpp"
#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/kernel_names.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {
namespace {

using namespace kineto;

// Which host operation launched each device event, and which operation runs inside which.
struct Links {
  std::vector<std::uint32_t> operation;  // one per device event; kNone: not known
  std::vector<std::uint32_t> parent;     // one per host operation; kNone: outermost
};

struct Query {
  std::uint32_t thread;
  Nanoseconds at;
  std::size_t event;
};

std::vector<Query> launches_in_order(const RawTrace& raw) {
  std::vector<Query> queries;
  for (std::size_t e = 0; e < raw.device_events.size(); ++e) {
    const auto launch = raw.launches.find(raw.device_events[e].correlation);
    if (launch != raw.launches.end() && !launch->second.graph) queries.push_back({launch->second.thread, launch->second.at, e});
  }
  std::ranges::sort(queries, {}, [](const Query& q) { return std::tuple(q.thread, q.at, q.event); });
  return queries;
}

std::vector<std::uint32_t> operations_in_order(const RawTrace& raw) {
  std::vector<std::uint32_t> order(raw.operations.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // The longer of two that start together is around the other.
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const HostOperation& o = raw.operations[i];
    return std::tuple(o.thread, o.start, -o.end, i);
  });
  return order;
}

Links link_by_launch(const RawTrace& raw) {
  Links links{std::vector(raw.device_events.size(), kNone), std::vector(raw.operations.size(), kNone)};
  const std::vector<std::uint32_t> order = operations_in_order(raw);
  std::vector<std::uint32_t> open;  // operations around the present moment, outermost first
  std::size_t next = 0;
  const auto close = [&](std::uint32_t thread, auto ended) {
    while (!open.empty() && (raw.operations[open.back()].thread != thread || ended(raw.operations[open.back()].end))) open.pop_back();
  };
  const auto open_next = [&] {
    const HostOperation& o = raw.operations[order[next]];
    close(o.thread, [&](Nanoseconds end) { return end <= o.start; });
    if (!open.empty()) links.parent[order[next]] = open.back();
    open.push_back(order[next++]);
  };
  for (const Query& q : launches_in_order(raw)) {
    while (next < order.size() &&
           std::tuple(raw.operations[order[next]].thread, raw.operations[order[next]].start) <= std::tuple(q.thread, q.at))
      open_next();
    close(q.thread, [&](Nanoseconds end) { return end < q.at; });
    if (!open.empty()) links.operation[q.event] = open.back();
  }
  return links;
}

// This serves where a launch was not recorded. In some versions a kernel's External id is only its correlation id, and says nothing.
void link_by_external_id(const RawTrace& raw, Links& links) {
  std::unordered_map<std::int64_t, std::uint32_t> by_id;
  for (std::uint32_t i = 0; i < raw.operations.size(); ++i)
    if (raw.operations[i].external >= 0) by_id.try_emplace(raw.operations[i].external, i);
  for (std::size_t e = 0; e < raw.device_events.size(); ++e) {
    const DeviceEvent& d = raw.device_events[e];
    if (links.operation[e] != kNone || d.external < 0 || d.external == d.correlation || raw.launches.contains(d.correlation)) continue;
    if (const auto at = by_id.find(d.external); at != by_id.end()) links.operation[e] = at->second;
  }
}

std::vector<int> parse_ranks(std::string_view text) {
  std::vector<int> ranks;
  if (text.find("...") != std::string_view::npos) return ranks;  // PyTorch shortens long lists
  for (std::size_t i = 0; i < text.size();) {
    int rank = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), rank);
    if (error == std::errc()) ranks.push_back(rank), i = static_cast<std::size_t>(end - text.data());
    else ++i;
  }
  return ranks;
}

// Builds the answer from the linked events.
class Builder {
 public:
  Builder(const RawTrace& raw, const Links& links, std::string file) : raw_(&raw), links_(&links) {
    trace_.format = TraceFormat::kineto;
    trace_.file = std::move(file);
    trace_.names = raw.names;
    if (raw.rank >= 0 && raw.rank <= INT32_MAX) trace_.rank = static_cast<int>(raw.rank);
    if (raw.world_size > 0 && raw.world_size <= INT32_MAX) trace_.world_size = static_cast<int>(raw.world_size);
  }
  ImportedTrace build();

 private:
  struct Known {
    std::optional<pcg::KernelKind> kind;
    std::optional<pcg::Precision> precision;
    bool collective = false, looked_at = false;
  };
  const Known& known(std::uint32_t name);
  void find_origin();
  [[nodiscard]] base::Seconds since_origin(Nanoseconds t) const { return base::Seconds(static_cast<double>(t - origin_) * 1e-9); }
  void add_kernel(std::size_t e);
  void add_collective(std::size_t e);
  void take_arguments(const CollectiveArguments& a, ImportedCollective& c);
  void take_annotation(const HostOperation& o, ImportedCollective& c) const;
  [[nodiscard]] std::uint32_t operation_of(std::size_t e);
  [[nodiscard]] std::optional<base::Seconds> launched(const DeviceEvent& d) const;
  [[nodiscard]] const std::optional<pcg::Kernel>& work_of(const HostOperation& o);
  void add_devices();
  void add_iterations();
  void add_notes();

  const RawTrace* raw_;
  const Links* links_;
  ImportedTrace trace_;
  Nanoseconds origin_ = 0;
  std::vector<Known> known_;
  std::unordered_map<std::uint32_t, std::uint32_t> operations_;  // host operation -> ImportedTrace::operations
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<pcg::Kernel>> works_;
  std::size_t inconsistent_gathers_ = 0, inconsistent_groups_ = 0;
};

const Builder::Known& Builder::known(std::uint32_t name) {
  if (known_.empty()) known_.resize(trace_.names.size());
  Known& k = known_[name];
  if (!k.looked_at)
    k = {kernel_kind(trace_.names[name]), kernel_precision(trace_.names[name]), is_collective_kernel(trace_.names[name]), true};
  return k;
}

void Builder::find_origin() {
  origin_ = INT64_MAX;
  for (const DeviceEvent& e : raw_->device_events) origin_ = std::min(origin_, e.start);
  for (const Step& s : raw_->steps) origin_ = std::min(origin_, s.start);
  for (const Step& s : raw_->device_steps) origin_ = std::min(origin_, s.start);
}

const std::optional<pcg::Kernel>& Builder::work_of(const HostOperation& o) {
  const auto [at, added] = works_.try_emplace({o.name, o.inputs});
  if (added && o.inputs != kNone) at->second = operation_work(trace_.names[o.name], raw_->inputs[o.inputs]);
  return at->second;
}

std::uint32_t Builder::operation_of(std::size_t e) {
  const std::uint32_t host = links_->operation[e];
  if (host == kNone) return kNoOperation;
  const auto [at, added] = operations_.try_emplace(host, static_cast<std::uint32_t>(trace_.operations.size()));
  if (!added) return at->second;
  const HostOperation& o = raw_->operations[host];
  ImportedOperation operation{.name = trace_.names[o.name], .work = work_of(o)};
  if (o.inputs != kNone && !raw_->inputs[o.inputs].types.empty()) {
    // The first input of addmm is the bias, of the same type as the factors.
    const ElementType* type = element_type(raw_->inputs[o.inputs].types.front());
    if (type != nullptr) operation.precision = type->precision;
  }
  trace_.operations.push_back(std::move(operation));
  return at->second;
}

std::optional<base::Seconds> Builder::launched(const DeviceEvent& d) const {
  const auto launch = raw_->launches.find(d.correlation);
  return launch == raw_->launches.end() ? std::nullopt : std::optional(since_origin(launch->second.at));
}

void Builder::add_kernel(std::size_t e) {
  const DeviceEvent& d = raw_->device_events[e];
  const Known& name = known(d.name);
  ImportedKernel k{.name = d.name, .operation = operation_of(e), .kind = name.kind, .precision = name.precision};
  if (k.operation != kNoOperation) {
    const ImportedOperation& o = trace_.operations[k.operation];
    const auto by_operation = operation_kind(o.name);
    // A convolution done as a matrix product is one still.
    const bool convolves = by_operation == pcg::KernelKind::convolution && k.kind == pcg::KernelKind::matmul;
    if (!k.kind || convolves) k.kind = by_operation;
    if (!k.precision) k.precision = o.precision;
  }
  if (d.work != DeviceWork::kernel) k.kind = pcg::KernelKind::copy, k.precision.reset();
  k.device = static_cast<int>(d.device);
  k.stream = d.stream;
  k.start = since_origin(d.start);
  k.duration = base::Seconds(static_cast<double>(d.duration) * 1e-9);
  k.by = launched_by(trace_.names, *raw_, links_->parent, links_->operation[e]);
  k.launched = launched(d);
  if (d.work != DeviceWork::kernel && d.bytes > 0) k.moved = base::Bytes(static_cast<double>(d.bytes));
  trace_.kernels.push_back(k);
}

void Builder::take_arguments(const CollectiveArguments& a, ImportedCollective& c) {
  if (const auto kind = collective_in(a.name)) c.kind = kind;
  if (a.group_size > 0 && a.group_size <= INT32_MAX) c.group_size = static_cast<int>(a.group_size);
  c.group = a.group;
  c.ranks = parse_ranks(a.ranks);
  if (c.group_size == 0) c.group_size = static_cast<int>(c.ranks.size());
  if (!c.ranks.empty() && c.ranks.size() != static_cast<std::size_t>(c.group_size)) ++inconsistent_groups_;
  const ElementType* type = element_type(a.element);
  if (type == nullptr) return;
  c.element = type->name;
  if (a.in_elements < 0) return;
  c.sent = base::Bytes(static_cast<double>(a.in_elements) * type->bytes);
  if (!c.kind) return;
  c.bytes = full_buffer(*c.kind, *c.sent, c.group_size);
  const bool gather = c.kind == profiles::CollectiveKind::all_gather;
  if (!gather || a.out_elements < 0) return;
  const base::Bytes out(static_cast<double>(a.out_elements) * type->bytes);
  if (c.bytes && *c.bytes != out) ++inconsistent_gathers_;
  c.bytes = out;
}

// "nccl:all_reduce" with the shapes of what goes in; older versions have nothing else.
void Builder::take_annotation(const HostOperation& o, ImportedCollective& c) const {
  if (const auto kind = collective_in(trace_.names[o.name])) c.kind = kind;
  if (o.inputs == kNone) return;
  const InputShapes& in = raw_->inputs[o.inputs];
  double bytes = 0;
  for (std::size_t i = 0; i < in.dims.size(); ++i) {
    const ElementType* type = i < in.types.size() ? element_type(in.types[i]) : nullptr;
    if (type == nullptr || in.dims[i].empty()) return;
    double elements = 1;
    for (const std::int64_t size : in.dims[i]) elements *= static_cast<double>(size);
    if (!(elements >= 0 && elements < 1e15)) return;
    c.element = type->name;
    bytes += elements * type->bytes;
  }
  if (bytes > 0) c.sent = base::Bytes(bytes);
  if (c.kind && c.sent) c.bytes = full_buffer(*c.kind, *c.sent, c.group_size);
}

void Builder::add_collective(std::size_t e) {
  const DeviceEvent& d = raw_->device_events[e];
  ImportedCollective c{.name = d.name, .kind = collective_in(trace_.names[d.name])};
  c.device = static_cast<int>(d.device);
  c.stream = d.stream;
  c.start = since_origin(d.start);
  c.duration = base::Seconds(static_cast<double>(d.duration) * 1e-9);
  c.by = launched_by(trace_.names, *raw_, links_->parent, links_->operation[e]);
  c.launched = launched(d);
  if (d.collective != kNone) take_arguments(raw_->collectives[d.collective], c);
  constexpr int kFarthest = 8;  // a collective's call is not deeper below its annotation
  int steps = 0;
  for (std::uint32_t o = links_->operation[e]; o != kNone && !c.sent && steps < kFarthest; o = links_->parent[o], ++steps) {
    const HostOperation& operation = raw_->operations[o];
    if (operation.collective != kNone) take_arguments(raw_->collectives[operation.collective], c);
    else if (trace_.names[operation.name].starts_with("nccl:")) take_annotation(operation, c);
  }
  trace_.collectives.push_back(std::move(c));
}

void Builder::add_devices() {
  std::set<int> used;
  for (const DeviceEvent& e : raw_->device_events) used.insert(static_cast<int>(e.device));
  for (const int id : used) {
    ImportedDevice device{.id = id};
    const auto recorded = std::ranges::find(raw_->devices, id, &RawDevice::id);
    if (recorded != raw_->devices.end()) device.name = recorded->name, device.memory = base::Bytes(recorded->memory);
    trace_.devices.push_back(std::move(device));
  }
}

void Builder::add_iterations() {
  const bool host = !raw_->steps.empty();
  for (const Step& s : host ? raw_->steps : raw_->device_steps)
    trace_.iterations.push_back(
        {trace_.names[s.name], since_origin(s.start), base::Seconds(static_cast<double>(s.duration) * 1e-9), std::nullopt});
  if (!host && !raw_->device_steps.empty())
    trace_.notes.emplace_back("iterations are marked on the device only: they begin with its first kernel, not with the step");
}

void Builder::add_notes() {
  if (raw_->incomplete_device_events > 0)
    trace_.notes.push_back(fmt::format("{} device events without begin and duration are left out", raw_->incomplete_device_events));
  const auto lost = std::ranges::count(links_->operation, kNone);
  if (lost > 0 && !raw_->operations.empty())
    trace_.notes.push_back(fmt::format("{} of {} device events have no recorded launch within an operation: shapes are not known for them",
                                       lost, links_->operation.size()));
  if (inconsistent_gathers_ > 0)
    trace_.notes.push_back(fmt::format(
        "{} all-gathers give out another size than group size times what goes in; the size given out is used", inconsistent_gathers_));
  if (inconsistent_groups_ > 0)
    trace_.notes.push_back(fmt::format("{} collectives list another number of ranks than their group size", inconsistent_groups_));
}

ImportedTrace Builder::build() {
  find_origin();
  for (std::size_t e = 0; e < raw_->device_events.size(); ++e) {
    const DeviceEvent& d = raw_->device_events[e];
    if (d.work == DeviceWork::kernel && known(d.name).collective) add_collective(e);
    else add_kernel(e);
  }
  for (const Allocation& m : raw_->allocations)
    trace_.allocated.push_back({static_cast<int>(m.device), since_origin(m.at), base::Bytes(static_cast<double>(m.allocated))});
  add_devices();
  add_iterations();
  add_notes();
  finish_trace(trace_);
  return std::move(trace_);
}

}  // namespace

ImportedTrace read_kineto(ByteSource& bytes) {
  const RawTrace raw = read_events(bytes);
  Links links = link_by_launch(raw);
  link_by_external_id(raw, links);
  return Builder(raw, links, bytes.name()).build();
}

}  // namespace imports
