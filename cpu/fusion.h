// The chains of operators that our kernels can run as one launch.
#pragma once

#include "runtime/launches/fusion_rules.h"

namespace soapstone::cpu {

/// f32 only, and only functions that oneDNN computes behind a contraction.
class CpuFusion final : public runtime::EpilogueRules {
 public:
  using EpilogueRules::EpilogueRules;
  bool can_append(const core::Graph& graph, const runtime::Launch& so_far,
                  const runtime::EpilogueStep& step) const override;

 private:
  std::optional<runtime::Fusion> level_of(const core::Node& function) const override;
  bool is_binary_head(const core::Node& head) const override;
  bool can_gate(const core::Node& head, const core::Node& function) const override;
};

}  // namespace soapstone::cpu
