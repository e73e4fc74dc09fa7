#include "base/units.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

using namespace base;

TEST_CASE("text with a unit becomes an SI value") {
  CHECK(parse_seconds("1.5 us")->value() == test::about(1.5e-6));
  CHECK(parse_seconds("30 days")->value() == 30.0 * 86400);
  CHECK(parse_seconds("2 min")->value() == 120);
  CHECK(parse_bytes("16 GiB")->value() == 16.0 * 1024 * 1024 * 1024);
  CHECK(parse_bytes("16 GB")->value() == 16e9);
  CHECK(parse_bytes("16GB")->value() == 16e9);
  CHECK(parse_bandwidth("12.5 GB/s")->value() == 12.5e9);
  // 400 Gbit/s / 8 bits per byte.
  CHECK(parse_bandwidth("400 Gbit/s")->value() == 50e9);
  CHECK(parse_bandwidth("400 Gb/s")->value() == 50e9);
  CHECK(parse_bandwidth("400 Gbps")->value() == 50e9);
  CHECK(parse_bandwidth("400G")->value() == 50e9);  // as network cards are sold
  CHECK(parse_bandwidth("400 gbps")->value() == 50e9);
  CHECK(parse_bandwidth("1 GiB/s")->value() == 1073741824.0);
  CHECK(parse_flops_rate("125 TFLOP/s")->value() == 125e12);
  CHECK(parse_flops_rate("19.5 TFLOPS")->value() == 19.5e12);
  CHECK(parse_dollars("2.10 USD")->value() == 2.1);
  CHECK(parse_dollars("300 kUSD")->value() == 3e5);
  CHECK(parse_dollars("2 MUSD")->value() == 2e6);
  CHECK(parse_watts("10.2 kW")->value() == test::about(10200));
}

TEST_CASE("a bare number, another dimension, an unknown unit and what is no number are refused") {
  CHECK_FALSE(parse_bandwidth("400"));
  CHECK_FALSE(parse_bandwidth("400 GB"));
  CHECK_FALSE(parse_bytes("400 GB/s"));
  CHECK_FALSE(parse_bytes("16 gib"));
  CHECK_FALSE(parse_seconds("1 month"));
  CHECK_FALSE(parse_seconds("us"));
  CHECK_FALSE(parse_seconds("inf s"));
  CHECK_FALSE(parse_seconds("nan s"));
  CHECK_FALSE(parse_flops_rate("1 TFLOP"));
  CHECK_FALSE(parse_bytes(""));
  CHECK_FALSE(parse_dollars("2"));
  CHECK_FALSE(parse_dollars("2 EUR"));
  CHECK_FALSE(parse_watts("2 kWh"));
  CHECK_FALSE(parse_bandwidth("1e300 PB/s"));  // the number is a double, the product is not
  CHECK_FALSE(parse_bytes("1e305 PB"));
}

TEST_CASE("a value prints with the unit that a person would choose") {
  CHECK(to_text(Seconds(1.3e-6)) == "1.3 us");
  CHECK(to_text(Seconds(0.1234)) == "123.4 ms");
  CHECK(to_text(Seconds(75.2)) == "75.2 s");
  CHECK(to_text(Seconds(600)) == "10 min");
  CHECK(to_text(Seconds(30.0 * 86400)) == "30 days");
  CHECK(to_text(Seconds(0)) == "0 s");
  CHECK(to_text(Bytes(16.0 * 1024 * 1024 * 1024)) == "16 GiB");
  CHECK(to_text(Bytes(80e9)) == "80 GB");
  CHECK(to_text(Bytes(512)) == "512 B");
  CHECK(to_text(Bytes(1234567890)) == "1.235 GB");
  CHECK(to_text(BytesPerSecond(12.5e9)) == "12.5 GB/s");
  CHECK(to_text(FlopsPerSecond(125e12)) == "125 TFLOP/s");
  CHECK(to_text(Dollars(52100)) == "52.1 kUSD");
  CHECK(to_text(Joules(3.6e9)) == "1 MWh");
}

TEST_CASE("dimensions divide and multiply as in physics") {
  CHECK((Bytes(100) / BytesPerSecond(50)).value() == 2);
  CHECK((Flops(6) / FlopsPerSecond(3)).value() == 2);
  CHECK((BytesPerSecond(3) * Seconds(4)).value() == 12);
  CHECK((Watts(3) * Seconds(4)).value() == 12);
  CHECK(Seconds(6) / Seconds(3) == 2);
}

TEST_CASE("printed text reads back to four significant digits") {
  CHECK(rc::check("units round-trip", [] {
    const double mantissa = 1 + *rc::gen::inRange(0, 9'000'000) / 1e6;
    const double value = mantissa * std::pow(10, *rc::gen::inRange(-8, 15));
    const auto close = [&](double back) { return std::abs(back / value - 1) <= 5.001e-4; };  // half a unit of the fourth digit of 1.000
    RC_ASSERT(close(parse_seconds(to_text(Seconds(value)))->value()));
    RC_ASSERT(close(parse_bytes(to_text(Bytes(value)))->value()));
    RC_ASSERT(close(parse_bandwidth(to_text(BytesPerSecond(value)))->value()));
    RC_ASSERT(close(parse_flops_rate(to_text(FlopsPerSecond(value)))->value()));
  }));
}
