// What stands behind an einsum is in its launch only where a library for GPUs computes it, whatever
// kernels of no make do; behind other heads nothing differs.
#include "gpu/kernels/library_fusion.h"

#include <gtest/gtest.h>

#include "cost/models/roofline.h"
#include "gpu/targets/target.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::Fusion;

constexpr const char* kEinsum = "graph g\n  x: f32[3, 4, 5]\n  w: f32[3, 5, 6]\n"
                                "  b: f32[6]\n  c: f32[4, 1]\n  r: f32[3, 4, 6]\n"
                                "  y = einsum(x, w; equation=\"abc,acd->abd\")\n";
constexpr const char* kMatmul = "graph g\n  x: f32[3, 4, 5]\n  w: f32[3, 5, 6]\n"
                                "  b: f32[6]\n  c: f32[4, 1]\n  r: f32[3, 4, 6]\n"
                                "  y = matmul(x, w)\n";

std::size_t launches(const std::string& text, const runtime::FusionRules& rules) {
  return runtime::plan_launches(graph_of(text), rules).launches.size();
}

TEST(LibraryFusion, TakesBehindAnEinsumWhatLibrariesHave) {
  const runtime::FusionRules &gpu = library_fusion(Fusion::kFull),
                             &generic = runtime::generic_fusion(Fusion::kFull);
  const std::string einsum = kEinsum;
  const std::string relu = einsum + "  z = add(y, b)\n  t = relu(z)\n  return t\n",
                    residual = einsum + "  z = add(y, r)\n  return z\n",
                    rows = einsum + "  z = mul(y, c)\n  return z\n",
                    two = einsum + "  z = tanh(y)\n  t = add(z, r)\n  return t\n";
  EXPECT_EQ(launches(relu, gpu), 1U);
  EXPECT_EQ(launches(residual, gpu), 1U);
  EXPECT_EQ(launches(rows, generic), 1U);
  EXPECT_EQ(launches(rows, gpu), 2U);
  EXPECT_EQ(launches(two, generic), 1U);
  EXPECT_EQ(launches(two, gpu), 2U);
}

TEST(LibraryFusion, IsAsGenericBehindOtherHeads) {
  const std::string text = std::string(kMatmul) + "  z = tanh(y)\n  t = add(z, r)\n  return t\n";
  for (const Fusion fusion : {Fusion::kNone, Fusion::kActivation, Fusion::kFull})
    EXPECT_EQ(launches(text, library_fusion(fusion)),
              launches(text, runtime::generic_fusion(fusion)));
}

/// A roofline for a card does not promise what the card does not do.
TEST(LibraryFusion, RooflinesOfCardsCountTheirLaunches) {
  const auto backend = make_absent_backend(*find_target("h100"));
  const auto cost = cost::make_roofline_cost(backend->fusion(Fusion::kFull));
  const core::Graph graph = graph_of(std::string(kEinsum) + "  z = mul(y, c)\n  return z\n");
  EXPECT_EQ(cost->graph_cost(graph).launches, 2U);
}

}  // namespace
}  // namespace soapstone::gpu
