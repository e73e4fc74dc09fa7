#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {
namespace {

// What `show` and `check` ask of a model.
void ask(const pcg::Graph& g) {
  (void)g.parameters();
  (void)g.forward_flops();
  (void)g.tokens_per_sample();
}

base::Yaml section_with(const char* key, const std::filesystem::path& file) {
  base::Yaml section = base::Yaml::make_map();
  section.set(key, base::Yaml::make_scalar(file.string()));
  return section;
}

}  // namespace

void read_huggingface(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] {
    const base::Yaml section = section_with("huggingface", file.path());
    ask(pcg::models::load_model(section, "model", {}, 4));
    (void)pcg::models::model_notes(section, {});
  });
}

void read_model(std::string_view bytes) {
  refused_or_read([&] {
    const base::Yaml y = base::parse_yaml(std::string(bytes), "input.yaml");
    if (const base::Yaml* section = y.find("model")) {
      if (section->find("huggingface") == nullptr && section->find("onnx") == nullptr)  // only bytes that are given are read
        ask(pcg::models::load_model(*section, "model", {}, 4));
      return;
    }
    const pcg::Graph g = pcg::models::read_graph(y, "");
    ask(g);
    BASE_CHECK(pcg::models::read_graph(base::parse_yaml(pcg::models::write_graph(g), "again.yaml"), "") == g,
               "the graph comes back another");
  });
}

void read_plan(std::string_view bytes) {
  refused_or_read([&] {
    const pcg::Plan plan = pcg::read_plan(base::parse_yaml(std::string(bytes), "input.yaml"));
    (void)pcg::write_plan(plan);
  });
}

void read_onnx(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] {
    const base::Yaml section = section_with("onnx", file.path());
    ask(pcg::models::load_model(section, "model", {}, 4));
  });
}

}  // namespace fuzz
