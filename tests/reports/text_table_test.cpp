#include <doctest/doctest.h>

#include "made_result.hpp"
#include "reports/table.hpp"
#include "reports/text_table.hpp"

TEST_CASE("columns are as wide as their widest cell, whatever its letters and colours") {
  reports::Table t({{"name", reports::Align::left}, {"n", reports::Align::right}});
  t.heading("a heading that is wider than any column");
  t.row({"größe", "1"});
  t.row({"\033[31mred\033[0m", "100"});
  CHECK(t.text() ==
        "name     n\n"
        "a heading that is wider than any column\n"
        "größe    1\n"
        "\033[31mred\033[0m    100\n");
}

TEST_CASE("the table, whole") {
  CHECK(
      reports::text_table(test::made_result(), reports::Colour::none) ==
      "made up\n"
      "\n"
      "                 plan               iteration  samples/s  vs base     MFU  exposed comm.  bubble          peak memory  status\n"
      "base\n"
      "  data-parallel  data 8                500 ms        128           25.0 %         25.0 %  12.5 %  8.0 GiB of 16.0 GiB  ok\n"
      "  megatron                                  -          -                -              -       -                    -  infeasible\n"
      "faster, by far\n"
      "  data-parallel  unchanged: data 8     250 ms        256    2.00x  25.0 %         25.0 %  12.5 %  8.0 GiB of 16.0 GiB  ok\n"
      "\n"
      "best: data-parallel, data 8 on 8 GPUs\n"
      "  time    compute 250 ms (50.0 %), exposed communication 125 ms (25.0 %), bubble 62.5 ms (12.5 %), idle 62.5 ms (12.5 %)\n"
      "          interval 375 ms to 625 ms\n"
      "  MFU     25.0 % with whole attention squares, as in the table; 12.5 % without their masked half\n"
      "  memory  weights 1.0 GiB, gradients 1.0 GiB, optimizer 2.0 GiB, activations 3.0 GiB, workspace 1.0 GiB\n"
      "  sent    3 GB, all_gather 1 GB, all_reduce 2 GB\n"
      "          busiest link: nvlink (node0:gpu0->gpu1), at work 50.0 % of the time\n"
      "\n"
      "notes\n"
      "  data-parallel, data-parallel (faster, by far): not calibrated\n"
      "  megatron: 8 devices do not divide by tensor 3 x pipeline 1 x context 1\n");
}

TEST_CASE("a plan that is another one after planning anew has its own line") {
  auto r = test::made_result();
  r.runs[3].made->micro_batches = 2;
  r.runs[3].plan_summary = "data 4 x tensor 2";
  const std::string text = reports::text_table(r, reports::Colour::none);
  CHECK(text.find("same plan: data 8") != std::string::npos);
  CHECK(text.find("re-planned: data 4 x tensor 2") != std::string::npos);
}

TEST_CASE("a plan that is timed under a framework of its own says so in its row") {
  auto r = test::made_result();
  r.runs[0].has_own_framework = true;
  r.runs[0].framework = "deepspeed";
  const std::string text = reports::text_table(r, reports::Colour::none);
  CHECK(text.find("data-parallel  data 8, under deepspeed ") != std::string::npos);
  CHECK(text.find("best: data-parallel, data 8, under deepspeed on 8 GPUs") != std::string::npos);
}
