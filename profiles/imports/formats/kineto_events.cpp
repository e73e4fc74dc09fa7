#include "profiles/imports/formats/kineto_events.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/numbers.hpp"
#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/sources/json_source.hpp"

namespace imports::kineto {
namespace {

// Limits against files that would fill the memory or the stack: 20 million events take 3 GB (import.hpp), and an event nests below ten.
constexpr std::size_t kMostEvents = 20'000'000;
constexpr std::size_t kDeepest = 128;

// The reader's place in the document. `other` is skipped with all that is below it.
enum class Where { nothing, document, events, event, arguments, shapes, shape, types, devices, device, distributed, other };

// One value of the file, whatever its type: numbers keep their text, so that no digit of a time stamp is lost.
struct Value {
  enum class Kind { nothing, number, text } kind = Kind::nothing;
  std::string_view text;
};

struct Event {
  std::string phase, category, name, start, duration;
  std::int64_t device = -1, stream = -1, correlation = -1, external = -1, bytes = -1, device_type = -1, allocated = -1;
  std::string process, thread;
  InputShapes inputs;
  CollectiveArguments collective;
};

class EventReader final : public JsonHandler {
 public:
  EventReader(RawTrace& trace, const std::string& file) : trace_(&trace), file_(&file) {}

  bool null() override { return value({}); }
  bool boolean(bool) override { return value({}); }
  bool number_integer(std::int64_t n) override { return number(fmt::format("{}", n)); }
  bool number_unsigned(std::uint64_t n) override { return number(fmt::format("{}", n)); }
  bool number_float(double, const std::string& text) override { return number(text); }
  bool string(std::string& text) override { return value({Value::Kind::text, text}); }
  bool binary(nlohmann::json::binary_t&) override { return value({}); }
  bool start_object(std::size_t) override;
  bool start_array(std::size_t) override;
  bool end_object() override;
  bool end_array() override;
  bool key(std::string& k) override {
    key_ = k;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override { refuse_json(*file_, e); }

  // It has a list of events; a bare list must hold at least one event with a phase, for any list of JSON has that form.
  [[nodiscard]] bool found_events() const { return found_events_ && (found_phase_ || !bare_list_); }

 private:
  [[nodiscard]] Where where() const { return path_.empty() ? Where::nothing : path_.back(); }
  [[nodiscard]] Where below(bool object) const;
  bool enter(Where w);
  bool number(const std::string& text) { return value({Value::Kind::number, text}); }
  bool value(const Value& v);
  void event_value(const Value& v);
  void argument(const Value& v);
  void collective_argument(const Value& v);
  void shape_value(const Value& v);

  void finish_event();
  void finish_device_event(DeviceWork work);
  void finish_launch();
  void finish_host_operation();
  void finish_step(std::vector<Step>& steps);
  void finish_allocation();
  [[nodiscard]] Nanoseconds time(const std::string& text, const char* key) const;
  [[nodiscard]] Nanoseconds duration() const;
  [[noreturn]] void refuse_event(const std::string& message) const;
  [[nodiscard]] std::uint32_t thread();
  [[nodiscard]] std::uint32_t inputs();
  [[nodiscard]] std::uint32_t collective();
  void limit(std::size_t kept) const;

  RawTrace* trace_;
  const std::string* file_;
  std::vector<Where> path_;
  std::string key_;
  Event event_;
  RawDevice device_;
  std::size_t index_ = 0;  // of the event in traceEvents
  bool found_events_ = false, found_phase_ = false, bare_list_ = false;
  std::map<std::pair<std::string, std::string>, std::uint32_t> threads_;
  std::unordered_map<std::string, std::uint32_t> input_ids_;
};

Where EventReader::below(bool object) const {
  switch (where()) {
    case Where::nothing: return object ? Where::document : Where::events;  // the array form has no document around the events
    case Where::document:
      if (key_ == "traceEvents" && !object) return Where::events;
      if (key_ == "deviceProperties" && !object) return Where::devices;
      return key_ == "distributedInfo" && object ? Where::distributed : Where::other;
    case Where::events: return object ? Where::event : Where::other;
    case Where::event: return key_ == "args" && object ? Where::arguments : Where::other;
    case Where::arguments:
      if (key_ == "Input Dims" && !object) return Where::shapes;
      return key_ == "Input type" && !object ? Where::types : Where::other;
    case Where::shapes: return object ? Where::other : Where::shape;
    case Where::devices: return object ? Where::device : Where::other;
    default: return Where::other;
  }
}

bool EventReader::enter(Where w) {
  if (path_.size() >= kDeepest) refuse(*file_, fmt::format("is nested more than {} deep", kDeepest));
  path_.push_back(w);
  if (w == Where::events) found_events_ = true, bare_list_ = path_.size() == 1;
  if (w == Where::event) event_ = Event();
  if (w == Where::device) device_ = RawDevice();
  if (w == Where::shape) event_.inputs.dims.emplace_back();
  return true;
}

bool EventReader::start_object(std::size_t) { return enter(below(true)); }

bool EventReader::start_array(std::size_t) {
  // A list of tensors where one tensor's shape is expected: its shapes are not kept, the input counts as one without a shape.
  if (where() == Where::shape) event_.inputs.dims.back().clear();
  return enter(below(false));
}

bool EventReader::end_object() {
  const Where left = where();
  path_.pop_back();
  if (left == Where::event) finish_event();
  if (left == Where::device) trace_->devices.push_back(device_);
  return true;
}

bool EventReader::end_array() {
  path_.pop_back();
  return true;
}

bool EventReader::value(const Value& v) {
  switch (where()) {
    case Where::nothing: refuse(*file_, "is JSON, but no trace: it is a single value");
    case Where::event: event_value(v); break;
    case Where::arguments: argument(v); break;
    case Where::shapes: event_.inputs.dims.emplace_back(); break;  // an input that has no shape
    case Where::shape: shape_value(v); break;
    case Where::types: event_.inputs.types.emplace_back(v.text); break;
    case Where::device:
      if (key_ == "id") device_.id = base::parse_integer(v.text).value_or(-1);
      if (key_ == "name") device_.name = v.text;
      if (key_ == "totalGlobalMem") device_.memory = static_cast<double>(base::parse_integer(v.text).value_or(0));
      break;
    case Where::distributed:
      if (key_ == "rank") trace_->rank = base::parse_integer(v.text).value_or(-1);
      if (key_ == "world_size") trace_->world_size = base::parse_integer(v.text).value_or(-1);
      break;
    default: break;
  }
  return true;
}

void EventReader::shape_value(const Value& v) {
  const auto size = v.kind == Value::Kind::number ? base::parse_integer(v.text) : std::nullopt;
  event_.inputs.dims.back().push_back(size.value_or(-1));
}

void EventReader::event_value(const Value& v) {
  if (key_ == "ph") event_.phase = v.text;
  else if (key_ == "cat") event_.category = v.text;
  else if (key_ == "name") event_.name = v.text;
  else if (key_ == "ts") event_.start = v.text;
  else if (key_ == "dur") event_.duration = v.text;
  else if (key_ == "pid") event_.process = v.text;
  else if (key_ == "tid") event_.thread = v.text;
}

void EventReader::argument(const Value& v) {
  const auto n = base::parse_integer(v.text);
  if (key_ == "External id" || key_ == "external id") event_.external = n.value_or(-1);
  else if (key_ == "correlation") event_.correlation = n.value_or(-1);
  else if (key_ == "device" || key_ == "Device Id") event_.device = n.value_or(-1);
  else if (key_ == "Device Type") event_.device_type = n.value_or(-1);
  else if (key_ == "Total Allocated") event_.allocated = n.value_or(-1);
  else if (key_ == "stream") event_.stream = n.value_or(-1);
  else if (key_ == "bytes" || key_ == "size") event_.bytes = n.value_or(-1);
  else collective_argument(v);
}

void EventReader::collective_argument(const Value& v) {
  CollectiveArguments& c = event_.collective;
  const auto n = base::parse_integer(v.text);
  if (key_ == "Collective name") c.name = v.text;
  else if (key_ == "dtype") c.element = v.text;
  else if (key_ == "In msg nelems") c.in_elements = n.value_or(-1);
  else if (key_ == "Out msg nelems") c.out_elements = n.value_or(-1);
  else if (key_ == "Group size") c.group_size = n.value_or(-1);
  else if (key_ == "Process Group Name") c.group = v.text;
  else if (key_ == "Process Group Ranks") c.ranks = v.text;
  if ((key_ == "In msg nelems" || key_ == "Out msg nelems") && n && *n < 0) refuse_event(fmt::format("\"{}\" is negative: {}", key_, *n));
}

void EventReader::refuse_event(const std::string& message) const {
  const std::string name = event_.name.substr(0, 60);
  refuse(*file_, fmt::format("traceEvents[{}] (\"{}\"): {}", index_, name, message));
}

Nanoseconds EventReader::time(const std::string& text, const char* key) const {
  const auto t = nanoseconds_of(text);
  if (!t)
    refuse_event(text.empty() ? fmt::format("has no {}", key) : fmt::format("{} is \"{}\", which is no time in microseconds", key, text));
  return *t;
}

Nanoseconds EventReader::duration() const {
  const Nanoseconds d = time(event_.duration, "dur");
  if (d < 0) refuse_event(fmt::format("dur is negative: {}", event_.duration));
  return d;
}

void EventReader::limit(std::size_t kept) const {
  if (kept > kMostEvents) refuse(*file_, fmt::format("has more than {} events of one kind", kMostEvents), "profile a few iterations only");
}

// Threads are numbered as they come: a pair of texts for each of a million events would fill the memory.
std::uint32_t EventReader::thread() {
  return threads_.try_emplace({event_.process, event_.thread}, static_cast<std::uint32_t>(threads_.size())).first->second;
}

// Shapes are kept once: a training step repeats the same few thousand.
std::uint32_t EventReader::inputs() {
  if (event_.inputs.dims.empty()) return kNone;
  std::string text;
  for (const auto& d : event_.inputs.dims) text += fmt::format("{};", fmt::join(d, ","));
  text += fmt::format("{}", fmt::join(event_.inputs.types, ";"));
  const auto [at, added] = input_ids_.try_emplace(text, static_cast<std::uint32_t>(trace_->inputs.size()));
  if (added) trace_->inputs.push_back(event_.inputs);
  return at->second;
}

std::uint32_t EventReader::collective() {
  if (!event_.collective.any()) return kNone;
  trace_->collectives.push_back(event_.collective);
  return static_cast<std::uint32_t>(trace_->collectives.size() - 1);
}

void EventReader::finish_device_event(DeviceWork work) {
  if (event_.phase != "X") {
    ++trace_->incomplete_device_events;
    return;
  }
  DeviceEvent e{.work = work, .name = trace_->names.id(event_.name), .start = time(event_.start, "ts"), .duration = duration()};
  // Device and stream are arguments too; where they are not, process and thread replace them.
  e.device = event_.device >= 0 ? event_.device : base::parse_integer(event_.process).value_or(0);
  e.stream = event_.stream >= 0 ? event_.stream : base::parse_integer(event_.thread).value_or(0);
  if (e.device > INT32_MAX) refuse_event(fmt::format("is on device {}", e.device));
  e.correlation = event_.correlation;
  e.external = event_.external;
  e.bytes = event_.bytes;
  e.collective = collective();
  trace_->device_events.push_back(e);
  limit(trace_->device_events.size());
}

void EventReader::finish_launch() {
  if (event_.phase != "X" || event_.correlation < 0 || event_.start.empty()) return;
  // The operation around a whole graph's launch says nothing of the kernels in it.
  const bool graph = event_.name.find("GraphLaunch") != std::string::npos;
  trace_->launches.try_emplace(event_.correlation, Launch{thread(), time(event_.start, "ts"), graph});
  limit(trace_->launches.size());
}

void EventReader::finish_host_operation() {
  if (event_.phase != "X") return;
  const Nanoseconds start = time(event_.start, "ts");
  trace_->operations.push_back({.thread = thread(),
                                .name = trace_->names.id(event_.name),
                                .start = start,
                                .end = start + duration(),
                                .external = event_.external,
                                .inputs = inputs(),
                                .collective = collective()});
  limit(trace_->operations.size());
}

void EventReader::finish_step(std::vector<Step>& steps) {
  if (event_.phase == "X") steps.push_back({trace_->names.id(event_.name), time(event_.start, "ts"), duration()});
}

// Of GPUs alone (c10::DeviceType::CUDA is 1).
void EventReader::finish_allocation() {
  if (event_.device_type != 1 || event_.allocated < 0) return;
  trace_->allocations.push_back({event_.device, event_.allocated, time(event_.start, "ts")});
  limit(trace_->allocations.size());
}

void EventReader::finish_event() {
  const std::string category = lower_case(event_.category);  // versions differ: "Kernel" and "kernel", "Memcpy" and "gpu_memcpy"
  const bool step = event_.name.starts_with("ProfilerStep#");
  found_phase_ = found_phase_ || !event_.phase.empty();
  if (category == "kernel") finish_device_event(DeviceWork::kernel);
  else if (category == "gpu_memcpy" || category == "memcpy") finish_device_event(DeviceWork::copy);
  else if (category == "gpu_memset" || category == "memset") finish_device_event(DeviceWork::fill);
  else if (category == "cuda_runtime" || category == "cuda_driver" || category == "runtime" || category == "driver") finish_launch();
  else if (category == "gpu_user_annotation" && step) finish_step(trace_->device_steps);
  else if (category == "user_annotation" && step) finish_step(trace_->steps);
  else if (event_.name == "[memory]") finish_allocation();
  else if (category == "cpu_op" || category == "operator" || category == "user_annotation") finish_host_operation();
  ++index_;
}

constexpr std::int64_t kMostMicroseconds = 3'000'000'000'000'000;  // sums and differences of two stay within 64 bits of nanoseconds

}  // namespace

RawTrace read_events(ByteSource& bytes) {
  RawTrace trace;
  const std::string file = bytes.name();
  EventReader reader(trace, file);
  (void)parse_json_events(bytes, reader);
  if (!reader.found_events()) refuse(file, "is JSON, but no trace: it has no traceEvents");
  return trace;
}

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  const char* const end = text.data() + text.size();
  double rounded = 0;
  const auto real = std::from_chars(text.data(), end, rounded);
  if (real.ec != std::errc() || real.ptr != end || !(std::abs(rounded) < static_cast<double>(kMostMicroseconds))) return std::nullopt;
  if (text.find_first_of("eE") != std::string_view::npos) return std::llround(rounded * 1000);
  std::int64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);  // stops at the point
  if (integer.ec != std::errc()) return std::llround(rounded * 1000);
  std::int64_t fraction = 0, unit = 100;
  for (const char* c = integer.ptr + (integer.ptr < end ? 1 : 0); c < end && unit > 0; ++c, unit /= 10) fraction += (*c - '0') * unit;
  return whole * 1000 + (text.front() == '-' ? -fraction : fraction);
}

}  // namespace imports::kineto
