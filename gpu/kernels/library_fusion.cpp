// See library_fusion.h.
#include "gpu/kernels/library_fusion.h"

#include <array>

#include "gpu/kernels/library_fit.h"
#include "ops/parts/product_labels.h"

namespace soapstone::gpu {
namespace {

class LibraryFusion final : public runtime::FusionRules {
 public:
  explicit LibraryFusion(runtime::Fusion fusion) : generic_(runtime::generic_fusion(fusion)) {}

  bool can_append(const core::Graph& graph, const runtime::Launch& so_far,
                  const runtime::EpilogueStep& step) const override {
    if (!generic_.can_append(graph, so_far, step)) return false;
    if (!ops::is_einsum_product(graph.node(so_far.head))) return true;
    runtime::Launch longer = so_far;
    longer.epilogue.push_back(step);
    return fits_libraries(graph, longer.nodes(), graph.node(step.node).outputs);
  }

 private:
  const runtime::FusionRules& generic_;
};

}  // namespace

const runtime::FusionRules& library_fusion(runtime::Fusion fusion) {
  using runtime::Fusion;
  static const std::array rules = {LibraryFusion(Fusion::kNone), LibraryFusion(Fusion::kActivation),
                                   LibraryFusion(Fusion::kFull), LibraryFusion(Fusion::kGenerated)};
  return rules[static_cast<std::size_t>(fusion)];
}

}  // namespace soapstone::gpu
