// How many launches built-in networks take, as a file that a person reads when it changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "gpu/kernels/cover.h"
#include "gpu/making/attention_fit.h"
#include "models/networks/builders.h"
#include "runtime/launches/launch_plan.h"
#include "tests/gpu/transformer_layer.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Group;

struct Launches {
  int kernels = 0, contractions = 0, views = 0, others = 0;
  int with_epilogues = 0;  ///< Launches of heads and epilogues, as backends of the host have them.
};

Launches launches_of(const core::Graph& graph) {
  Launches result;
  result.with_epilogues = static_cast<int>(
      runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull))
          .launches.size());
  for (const Group& group : gpu_groups(graph)) {
    result.kernels += group.kind == Group::Kind::kKernel;
    result.contractions += group.kind == Group::Kind::kContraction;
    result.views += group.kind == Group::Kind::kView;
    result.others += group.kind == Group::Kind::kOther;
  }
  return result;
}

Launches launches_of(const std::string& network, const models::ParameterValues& sizes = {}) {
  const auto graph = models::build_model(network, sizes);
  if (graph) return launches_of(*graph);
  ADD_FAILURE() << graph.error().to_string();
  return {};
}

/// Attention is one launch there.
void add_in_16_bits(std::string& text) {
  const auto count = [](const std::vector<Group>& groups) {
    return std::ranges::count_if(
        groups, [](const Group& group) { return group.kind != Group::Kind::kView; });
  };
  for (const char* name : {"bert_base", "swin", "gpt", "llama", "moe"}) {
    models::NetworkOptions options;
    options.type = core::DataType::kFloat16;
    models::ParameterValues sizes;
    if (name != std::string_view("swin")) sizes["layers"] = 1;
    const auto built = models::build_network(name, sizes, options);
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    const std::vector<Group> apart = gpu_groups(built->graph);
    text += fmt::format("{}{} in 16 bits: {} launches, {} with attention apart\n", name,
                        sizes.empty() ? "" : " of one layer",
                        count(join_attention(built->graph, apart, is_attention_of_known_cards)),
                        count(apart));
  }
}

TEST(Launches, AreThoseOfTheFile) {
  std::string text;
  const auto add = [&](const std::string& name, const Launches& n) {
    text += fmt::format(
        "{}: {} generated, {} contractions, {} views, {} others; {} with epilogues alone\n", name,
        n.kernels, n.contractions, n.views, n.others, n.with_epilogues);
  };
  for (const models::ModelBuilder& builder : models::builders())
    add(std::string(builder.name), launches_of(std::string(builder.name)));
  add_in_16_bits(text);
  const Launches one = launches_of("bert_base", {{"layers", 1}});
  const Launches two = launches_of("bert_base", {{"layers", 2}});
  add("a layer of bert_base",
      {two.kernels - one.kernels, two.contractions - one.contractions, two.views - one.views,
       two.others - one.others, two.with_epilogues - one.with_epilogues});
  add("the same with one product for queries, keys and values",
      launches_of(graph_of(test::transformer_layer({128, 12, 64, 3072}))));
  std::ostringstream wanted;
  wanted << std::ifstream(SOAPSTONE_SOURCE_DIR "/tests/golden/launches.txt").rdbuf();
  EXPECT_EQ(text, wanted.str());
}

}  // namespace
}  // namespace soapstone::gpu
