// How many launches built-in networks take, as a file that a person reads when it changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "gpu/kernels/cover.h"
#include "gpu/making/attention_fit.h"
#include "models/networks/builders.h"
#include "runtime/launches/signature_reader.h"
#include "tests/gpu/transformer_layer.h"
#include "tests/models/small_sizes.h"
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
  const auto add = [&](const std::string& name, const models::ParameterValues& sizes,
                       const char* what) {
    models::NetworkOptions options;
    options.type = core::DataType::kFloat16;
    const auto built = models::build_network(name, sizes, options);
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    const std::vector<Group> apart = gpu_groups(built->graph);
    text += fmt::format("{}{} in 16 bits: {} launches, {} with attention apart\n", name, what,
                        count(join_attention(built->graph, apart, is_attention_of_known_cards)),
                        count(apart));
  };
  for (const char* name : {"bert_base", "gpt", "llama", "moe"})
    add(name, {{"layers", 1}}, " of one layer");
  add("swin", {}, "");
  add("swin", {{"batch", 4}}, " of four images");
}

TEST(Launches, AreThoseOfTheFile) {
  std::string text;
  const auto add = [&](const std::string& name, const Launches& n) {
    text += fmt::format(
        "{}: {} generated, {} contractions, {} views, {} others; {} with epilogues alone\n", name,
        n.kernels, n.contractions, n.views, n.others, n.with_epilogues);
  };
  const std::set<std::string> large = {"bert_large", "gnmt"};
  for (const models::ModelBuilder& builder : models::builders()) {
    if (large.contains(builder.name))
      add(builder.name + " of few layers",
          launches_of(builder.name, models::few_repeats(builder.name)));
    else
      add(builder.name, launches_of(builder.name));
  }
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

/// The signature without what a reader of it cannot know: which inputs are constants.
std::string without_constants(std::string signature) {
  constexpr std::string_view kConstant = "constant ";
  for (std::size_t at = 0; (at = signature.find(kConstant, at)) != std::string::npos;) {
    const bool is_number = signature.find_first_of("0123456789-", at) == at + kConstant.size();
    if (is_number)
      at += kConstant.size();
    else
      signature.erase(at, kConstant.size());
  }
  return signature;
}

/// From what the cost database keeps of a launch the launch can be made again.
TEST(Launches, AreReadBackFromTheirSignatures) {
  std::size_t count = 0;
  for (const models::ModelBuilder& builder : models::builders()) {
    const auto graph = models::build_model(builder.name, models::few_repeats(builder.name));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    const auto launches = cover(*graph, runtime::Fusion::kFull, is_attention_of_known_cards);
    for (const runtime::Launch& launch : launches.value()) {
      const std::string signature = runtime::launch_signature(*graph, launch);
      const auto read = runtime::read_launch_signature(signature);
      ASSERT_TRUE(read.ok()) << signature << "\n" << read.error().to_string();
      EXPECT_EQ(runtime::launch_signature(read->graph, read->launch, read->layouts),
                without_constants(signature));
      ++count;
    }
  }
  EXPECT_GT(count, 500u);
}

}  // namespace
}  // namespace soapstone::gpu
