#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "made_result.hpp"
#include "reports/answer.hpp"
#include "reports/layout/table.hpp"

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

TEST_CASE("cells on the left and titles take several lines where the screen is narrow, figures do not") {
  reports::Table table({{"  what", reports::Align::left}, {"of the time", reports::Align::right}, {"why", reports::Align::left}});
  table.row({"  first", "12.5 %", "because it is so and not otherwise"});
  CHECK(table.text(2, 80) == "  what   of the time  why\n  first       12.5 %  because it is so and not otherwise\n");
  CHECK(table.text(2, 29) ==
        "  what      of the  why\n"
        "              time\n"
        "  first     12.5 %  because\n"
        "                    it is so\n"
        "                    and not\n"
        "                    otherwise\n");
}

TEST_CASE("columns that do not fit go on below, under the same names") {
  reports::Table table({{"sent", reports::Align::left}, {"all", reports::Align::right}, {"some", reports::Align::right}});
  table.heading("base");
  table.row({"  plan", "29.59 GB", "27.21 GB"});
  CHECK(table.text_in_parts(26) == table.text());
  CHECK(table.text_in_parts(25) == "sent         all\nbase\n  plan  29.59 GB\n\nsent        some\nbase\n  plan  27.21 GB\n");
}

TEST_CASE("the table, whole") {
  CHECK(reports::text_table(test::made_result(), {}) ==
        "made up\n"
        "\n"
        "                 GPUs   time     90 %  tokens/s        vs base   MFU  comm.  bubble  host    memory  status\n"
        "                          ms        %                        %     %      %       %     %       GiB\n"
        "base\n"
        "  data-parallel     8  500.0  -25 +25     65536                 12.5   25.0    12.5  12.5  8.0/16.0  ok\n"
        "    data 8\n"
        "  megatron          8      -        -         -                    -      -       -     -         -  no plan\n"
        "    8 devices do not divide by tensor 3 x pipeline 1 x context 1\n"
        "faster, by far\n"
        "  data-parallel     8  250.0  -25 +25    131072  2.00x -20 +25  12.5   25.0    12.5  12.5  8.0/16.0  ok\n"
        "    unchanged: data 8\n"
        "\n"
        "90 %: the confidence interval around the time; comm.: exposed communication; host: the GPU waits for its host, above all\n"
        "to launch kernels; MFU, comm., bubble and host are shares of the peak or of the time; memory: peak of capacity; vs base:\n"
        "how many times as quick, with its own interval\n"
        "\n"
        "best: data-parallel, data 8 on 8 GPUs\n"
        "  time    compute 250 ms (50.0 %), exposed communication 125 ms (25.0 %), bubble 62.5 ms (12.5 %), idle 62.5 ms\n"
        "          (12.5 %); 90 % interval 375 ms to 625 ms\n"
        "  waits   for communication 25.0 % of the time: overlap it, let fewer GPUs share it, or take faster links; for other\n"
        "          pipeline stages 12.5 %: more micro-batches, or more chunks per stage, fill the bubble; for its host 12.5 %,\n"
        "          which launches kernels more slowly than the GPU runs them: larger micro-batches, fused kernels or CUDA graphs\n"
        "  MFU     12.5 % without the masked half of attention's squares, as in the table; 25.0 % with it\n"
        "  memory  8.0 GiB of 16.0 GiB free; weights 1.0 GiB, gradients 1.0 GiB, optimizer 2.0 GiB, activations 3.0 GiB,\n"
        "          workspace 1.0 GiB\n"
        "  sent    3 GB, all_gather 1 GB, all_reduce 2 GB; busiest link: nvlink (node0:gpu0->gpu1), at work 50.0 % of the time\n"
        "\n"
        "notes\n"
        "  problem  megatron: 8 devices do not divide by tensor 3 x pipeline 1 x context 1\n"
        "  caution  data-parallel, data-parallel (faster, by far): not calibrated\n");
}

TEST_CASE("no line is wider than the screen, whatever the layout") {
  auto r = test::made_result();
  for (scenarios::Run& run : r.runs) run.plan_summary += ", a plan that takes many words to say what it does with every layer of its model";
  for (const std::size_t width : {80, 100, 120, 160, 200})
    for (const reports::NotesShown notes : {reports::NotesShown::few, reports::NotesShown::all}) {
      std::istringstream text(reports::text_table(r, {.width = width, .notes = notes}));
      for (std::string line; std::getline(text, line);) CHECK_MESSAGE(reports::width_of(line) <= width, line);
    }
}

TEST_CASE("a comparison that is exact has no interval; where figures have no room for one, it stands in the row's words") {
  auto r = test::made_result();
  CHECK(reports::text_table(r, {.width = 80}).find("unchanged: data 8; vs base 1.60 to 2.50\n") != std::string::npos);
  CHECK(reports::text_table(r, {.width = 80}).find("-20 +25") == std::string::npos);
  CHECK(reports::markdown(r).find("2.00x -20 +25") != std::string::npos);
  for (scenarios::Run& run : r.runs)
    if (run.against_base) run.against_base = scenarios::Speedup{};
  for (const std::size_t width : {80, 120}) {
    const std::string text = reports::text_table(r, {.width = width});
    CHECK(text.find("  1.00x ") != std::string::npos);
    CHECK(text.find("1.00x -") == std::string::npos);
    CHECK(text.find("vs base:") == std::string::npos);
    CHECK(text.find("vs base 1") == std::string::npos);
  }
}

TEST_CASE("how surely the best plan is the best is said below it") {
  auto r = test::made_result();
  const auto said = [&](const scenarios::Favourite& f) {
    r.favourite = f;
    const std::string text = reports::text_table(r, {});
    const std::size_t at = text.find("  sure    ");
    return at == std::string::npos ? "" : text.substr(at + 10, text.find('\n', at) - at - 10);
  };
  CHECK(said({{"data-parallel"}, 4, 0.714}) == "best of 4 plans that fit with 71 %");
  CHECK(said({{"data-parallel"}, 4, 0.9994}) == "best of 4 plans that fit with over 99 %");
  CHECK(said({{"a", "b"}, 3, 0.8}) == "a and b, which are equally quick, are the best of 3 plans that fit with 80 %");
  CHECK(said({{"a", "b"}, 2, 1}) == "all 2 plans that fit are equally quick");
}

TEST_CASE("notes: the most important first, ten lines, those that differ in figures alone once") {
  auto r = test::made_result();
  r.runs[0].notes = {{base::NoteKind::detail, "code", "8 devices simulated as 1"},
                     {base::NoteKind::assumption, "code", "no network profile"}};
  for (int i = 0; i < 20; ++i)
    r.runs[0].notes.push_back(
        {base::NoteKind::search, "code", "found in step " + std::string(static_cast<std::size_t>(1 + i % 2), static_cast<char>('a' + i))});
  r.runs[2].notes = {{base::NoteKind::assumption, "code", "no network profile"},
                     {base::NoteKind::detail, "code", "16 devices simulated as 2"}};
  const std::string few = reports::notes_text(r, 0, 120, reports::NotesShown::few);
  CHECK(std::ranges::count(few, '\n') == 2 + reports::kFewLines);
  CHECK(few.find("more: --notes all") != std::string::npos);
  CHECK(few.find("problem") < few.find("assumed"));
  CHECK(few.find("assumed") < few.find("search"));
  const std::string all = reports::notes_text(r, 0, 120, reports::NotesShown::all);
  CHECK(all.find("8 devices simulated as 1\n") != std::string::npos);
  CHECK(all.find("16 devices simulated as 2\n") != std::string::npos);
  CHECK(all.find("more: --notes all") == std::string::npos);
}

TEST_CASE("a plan that fits by less than forecasts of memory err is tight") {
  auto r = test::made_result();
  r.runs[0].simulation->memory.peak = r.runs[0].simulation->memory.capacity * 0.98;
  const std::string text = reports::text_table(r, {});
  CHECK(text.find(" tight") != std::string::npos);
  CHECK(text.find("the plan fits tightly: 0.3 GiB of 16.0 GiB are left") != std::string::npos);
}

TEST_CASE("text is broken at blanks") {
  CHECK(reports::wrapped("", 5) == std::vector<std::string>{""});
  CHECK(reports::wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(reports::wrapped("incomprehensible it is", 7) == std::vector<std::string>{"incomprehensible", "it is"});
  CHECK(reports::wrapped("it is 12.5 % here", 10) == std::vector<std::string>{"it is", "12.5 %", "here"});
}

TEST_CASE("a plan that is another one after planning anew has its own line") {
  auto r = test::made_result();
  r.runs[3].made = std::make_shared<const pcg::Plan>(pcg::Plan{.micro_batches = 2});
  r.runs[3].plan_summary = "data 4 x tensor 2";
  const std::string text = reports::text_table(r, {});
  CHECK(text.find("same plan: data 8") != std::string::npos);
  CHECK(text.find("re-planned: data 4 x tensor 2") != std::string::npos);
}

TEST_CASE("a plan that is timed under a framework of its own says so in its row") {
  auto r = test::made_result();
  r.runs[0].has_own_framework = true;
  r.runs[0].framework = "deepspeed";
  const std::string text = reports::text_table(r, {});
  CHECK(text.find("data 8, under deepspeed\n") != std::string::npos);
  CHECK(text.find("best: data-parallel, data 8, under deepspeed on 8 GPUs") != std::string::npos);
}
