#include "profiles/framework_profile.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/about.hpp"
#include "tests/base/input_error_text.hpp"

namespace {

profiles::FrameworkProfile load_framework(const std::string& text) {
  return profiles::load_framework_profile(base::parse_yaml(text, "f.yaml"));
}

}  // namespace

TEST_CASE("a profile ships for every framework, and says what its documentation says") {
  for (std::size_t f = 0; f < pcg::names<pcg::Framework>().size(); ++f)
    CHECK(profiles::framework_profile(static_cast<pcg::Framework>(f)).framework == static_cast<pcg::Framework>(f));
  const auto& megatron = profiles::framework_profile(pcg::Framework::megatron);
  CHECK(std::isinf(megatron.gradient_bucket.value()));
  // Megatron-LM sends in batches that everything waits for, and beside the kernels once devices have virtual stages.
  CHECK(megatron.overlap_stage_boundary == profiles::BySchedule{.plain = false, .interleaved = true});
  CHECK(megatron.host_waits_for_stage == profiles::BySchedule{.plain = true, .interleaved = false});
  CHECK(megatron.transformer_dropout == 0.1);
  CHECK(megatron.fp32_gradient_copy);
  CHECK(megatron.fused_gated_activation);
  CHECK(profiles::framework_profile(pcg::Framework::pytorch).gradient_bucket.value() == 25 * 1024 * 1024);
  CHECK(profiles::framework_profile(pcg::Framework::generic).host.forward_kernel.value() == 0);
  CHECK(profiles::framework_profile(pcg::Framework::pytorch).prefetch_units == 1);
  CHECK(profiles::framework_profile(pcg::Framework::deepspeed).host.basis == profiles::HostBasis::fitted);
  CHECK(megatron.host.basis == profiles::HostBasis::assumed);
}

// The recipes of 2024 to 2026 overlap and reduce in bf16 where the command line's defaults of 2021 to 2023 do not.
TEST_CASE("Megatron-Core's profile departs from Megatron-LM's where its recipes do") {
  const auto &core = profiles::framework_profile(pcg::Framework::megatron_core),
             &lm = profiles::framework_profile(pcg::Framework::megatron);
  CHECK(core.overlap_gradients);
  CHECK(core.overlap_parameters);
  CHECK(core.overlapped_bucket.parameters_among(1) == 128 * 1024 * 1024);
  CHECK(core.overlapped_bucket.parameters_among(4096) == 128 * 1024 * 1024);
  CHECK(!core.fp32_gradients);
  CHECK(core.transformer_dropout == 0);
  CHECK(core.fused_gradient_accumulation);
  CHECK(core.loss.forward_kernels == 2);
  CHECK(core.loss.forward.value() < lm.loss.forward.value());
  CHECK(core.overlap_stage_boundary == lm.overlap_stage_boundary);
}

TEST_CASE("every key of a framework profile is read") {
  const auto f = load_framework(
      "foreshard: 1\nframework:\n  name: pytorch\n  gradient_bucket: all\n  overlap_gradients: false\n  host_waits_for_stage: true\n"
      "  overlap_stage_boundary: {plain: true, interleaved: false}\n"
      "  prefetch_units: 3\n  keeps_root_unit: true\n  fp32_gradient_copy: true\n  fused_gated_activation: true\n"
      "  attention: {a100: 0.3}\n  attention_gradient: {a100: 0.2}\n  sustained: {h100: 0.8}\n"
      "  attention_block_keys: 317\n  attention_gradient_block_keys: 549\n  loss_casts: {forward_bytes: 1 B, backward_bytes: 10 B}\n"
      "  fallback_softmax: {heads: 8, keys: 64, forward_kernels: 2, backward_kernels: 3, forward_bytes: 12 B, backward_bytes: 14 B}\n"
      "  unfused_scores: {forward: 2, backward: 5, masked: 4}\n"
      "  stops_recomputation_early: true\n  unit_copies: {gathered_bytes: 4 B, reduced_bytes: 6 B, reduced_strided_bytes: 5 B}\n"
      "  loss: {forward_kernels: 6, forward_bytes: 38 B, backward_kernels: 2, backward_bytes: 14 B}\n"
      "  expert_bias: {forward_bytes: 12 B, backward_bytes: 10 B, forward_strided_bytes: 4 B, backward_strided_bytes: 8 B}\n"
      "  rotation: {forward_bytes: 24 B, backward_bytes: 34 B}\n"
      "  joint_gated_projections: true\n  sorts_exchanged_tokens: true\n  sequence_first: true\n"
      "  host_waits_for_activations: true\n  blocking_launches: true\n"
      "  memory: {loss_kept: 2 B, loss_temporaries: 8 B, gradient_placeholders: true, half_gradients: true, weighed_activations: true, "
      "product_workspaces: 2,\n"
      "    product_workspace: 32 MiB, library_workspaces: 1, expert_workspaces: 4, copied_attention_output: {a100: true, h100: false},\n"
      "    allocator_share: 0.05, reduce_buffer: 5e8, reuse_distance: 1e9, live_parameters: 2e9}\n"
      "  host: {basis: fitted, forward_kernel: 10 us, launch_jitter: 2 us, expert: 7 us, attention_kernel: 3 us}\n");
  CHECK(f.framework == pcg::Framework::pytorch);
  CHECK(!f.overlap_gradients);
  CHECK(f.host_waits_for_stage == profiles::BySchedule{true, true});
  CHECK(f.overlap_stage_boundary == profiles::BySchedule{.plain = true, .interleaved = false});
  CHECK(f.prefetch_units == 3);
  CHECK(f.keeps_root_unit);
  CHECK(f.fp32_gradient_copy);
  CHECK(f.fused_gated_activation);
  CHECK(f.host.basis == profiles::HostBasis::fitted);
  CHECK(f.attention.at("a100") == 0.3);
  CHECK(f.attention_gradient.at("a100") == 0.2);
  CHECK(f.sustained.at("h100") == 0.8);
  CHECK(f.attention_block_keys == 317);
  CHECK(f.attention_gradient_block_keys == 549);
  CHECK(f.loss_casts == profiles::BytesPerElement{base::Bytes(1), base::Bytes(10)});
  CHECK(f.fallback_softmax == profiles::FallbackSoftmax{8, 64, 2, 3, base::Bytes(12), base::Bytes(14)});
  CHECK(f.unfused_scores == profiles::UnfusedScores{2, 5, 4});
  CHECK(f.stops_recomputation_early);
  CHECK(f.unit_copies == profiles::UnitCopies{base::Bytes(4), base::Bytes(6), base::Bytes(5)});
  CHECK(f.loss.forward_kernels == 6);
  CHECK(f.loss.backward.value() == 14);
  CHECK(f.expert_bias.forward.value() == 12);
  CHECK(f.expert_bias.backward.value() == 10);
  CHECK(f.expert_bias.forward_strided.value() == 4);
  CHECK(f.expert_bias.backward_strided.value() == 8);
  CHECK(f.rotation.forward.value() == 24);
  CHECK(f.rotation.backward.value() == 34);
  CHECK(f.joint_gated_projections);
  CHECK(f.sorts_exchanged_tokens);
  CHECK(f.sequence_first);
  CHECK(f.host_waits_for_activations);
  CHECK(f.blocking_launches);
  CHECK(f.host.expert.value() == test::about(7e-6));
  CHECK(f.host.attention_kernel.value() == test::about(3e-6));
  CHECK(f.memory == profiles::MemoryBehaviour{.loss_kept = base::Bytes(2),
                                              .loss_temporaries = base::Bytes(8),
                                              .gradient_placeholders = true,
                                              .half_gradients = true,
                                              .weighed_activations = true,
                                              .copied_attention_output = {"a100"},
                                              .reduce_buffer = 5e8,
                                              .reuse_distance = 1e9,
                                              .live_parameters = 2e9,
                                              .product_workspaces = 2,
                                              .product_workspace = base::Bytes(32.0 * 1024 * 1024),
                                              .library_workspaces = 1,
                                              .expert_workspaces = 4,
                                              .allocator_share = 0.05});
  CHECK(f.host.forward_kernel.value() == test::about(10e-6));
  CHECK(f.host.launch_jitter.value() == test::about(2e-6));
  CHECK(f.host.iteration.value() == 0);
}

TEST_CASE("what is wrong with a framework profile is told, all at once") {
  const std::string text = input_error_text([] {
    (void)load_framework(
        "foreshard: 1\nframework:\n  name: megatrn\n  gradient_bucket: 25\n  sustained: {a1000: 0.9}\n  host: {micro_bacth: 1 ms, "
        "iteration: -1 s}\n  host_waits_for_stage: {interleaved: true}\n  overlap_stage_boundary: sometimes\n");
  });
  CHECK(text.find("megatron") != std::string::npos);               // the nearest name
  CHECK(text.find("has no unit") != std::string::npos);            // 25 of what?
  CHECK(text.find("missing key \"plain\"") != std::string::npos);  // a map says both
  CHECK(text.find("sometimes") != std::string::npos);
  CHECK(text.find("a1000") != std::string::npos);
  CHECK(text.find("micro_batch") != std::string::npos);
}

// What a product keeps in training is the device's to say; a framework says so where its rows ask for another share.
TEST_CASE("generic has no shares of its own") {
  CHECK(profiles::framework_profile(pcg::Framework::generic).sustained.empty());
  CHECK(profiles::framework_profile(pcg::Framework::deepspeed).sustained.at("a100") == 0.96);
}

TEST_CASE("a compiler fuses RMS norms, gated units and what surrounds a softmax, not a rotation of complex numbers") {
  const std::string text =
      "foreshard: 1\nframework:\n  name: pytorch\n  gradient_bucket: all\n  host: {}\n  rotation: {forward_bytes: 20 B, backward_bytes: 20 "
      "B}\n"
      "  unfused_scores: {forward: 2, backward: 5}\n  rms_norm: {forward_bytes: 36 B, backward_bytes: 76 B, forward_kernels: 8}\n";
  const auto eager = load_framework(text), compiled = load_framework(text + "  compiled: true\n");
  CHECK(eager.rms_norm == profiles::BytesPerElement{base::Bytes(36), base::Bytes(76), 8, 1});
  CHECK_FALSE(eager.fused_gated_activation);
  CHECK(compiled.fused_gated_activation);
  CHECK(compiled.rotation == eager.rotation);
  CHECK(compiled.rms_norm == profiles::BytesPerElement{});
  CHECK(eager.unfused_scores.backward == 5);
  CHECK(compiled.unfused_scores == profiles::UnfusedScores{});
}
