#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "pcg/plan/mapping.hpp"

namespace pcg {
namespace {

std::vector<std::uint32_t> numbers(const std::vector<DeviceId>& devices) {
  std::vector<std::uint32_t> result;
  for (DeviceId d : devices) result.push_back(d.value);
  return result;
}

TEST_CASE("a 2-D view walks nodes with one axis and GPUs of a node with the other (Unity, Figure 7)") {
  const Sharding s{.degrees = {2, 1, 3}};
  // Four GPUs per node: b over nodes (stride 4), n over GPUs (stride 1), from GPU 1.
  const MachineView v{.start = DeviceId(1), .strides = {4, 1}};
  CHECK(numbers(devices_of(v, s)) == std::vector<std::uint32_t>{1, 2, 3, 5, 6, 7});
  CHECK(!violation(v, s, 8));
  CHECK(violation(v, s, 7) == "device 7 is not one of 0 .. 6");
  CHECK(violation(MachineView{.strides = {1}}, s, 8) == "1 strides are given for 2 axes of degree above 1");
}

TEST_CASE("axes are the degrees above 1 in task-space order") {
  CHECK(axes({.degrees = {1, 4, 2}, .copies = 3, .sums = 1}) == std::vector<int>{3, 4, 2});
  CHECK(axes({.degrees = {}}).empty());
}

TEST_CASE("one point needs no strides") {
  CHECK(numbers(devices_of({.start = DeviceId(5)}, {.degrees = {1, 1}})) == std::vector<std::uint32_t>{5});
}

TEST_CASE("devices in words: runs, steps, and how many of what lies in between") {
  const auto text = [](std::vector<std::uint32_t> numbers) {
    std::vector<DeviceId> devices;
    for (const std::uint32_t n : numbers) devices.emplace_back(n);
    return to_text(devices);
  };
  CHECK(text({7}) == "7");
  CHECK(text({0, 1, 2, 3}) == "0 to 3");
  CHECK(text({2, 8, 14}) == "2 to 14 in steps of 6");
  CHECK(text({0, 1, 3}) == "3 of 0 to 3");
}

TEST_CASE("compact finds the strides of a regular list and keeps any other") {
  CHECK(rc::check([] {
    Sharding s;
    s.degrees = *rc::gen::container<std::vector<int>>(3, rc::gen::inRange(1, 4));
    s.copies = *rc::gen::inRange(1, 3);
    MachineView v{.start = DeviceId(static_cast<std::size_t>(*rc::gen::inRange(40, 60)))};
    for (std::size_t a = 0; a < axes(s).size(); ++a) v.strides.push_back(*rc::gen::inRange(-4, 9));
    const MachineView list{.devices = devices_of(v, s)};
    RC_ASSERT(compact(list, s) == v);
    RC_ASSERT(devices_of(compact(list, s), s) == list.devices);
  }));
  const MachineView odd{.devices = {DeviceId(0), DeviceId(1), DeviceId(3), DeviceId(5)}};
  CHECK(compact(odd, {.degrees = {4}}) == odd);
}

}  // namespace
}  // namespace pcg
