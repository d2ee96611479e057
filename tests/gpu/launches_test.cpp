// How many launches built-in networks take, as a file that a person reads when it changes.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "gpu/kernels/fusion.h"
#include "models/networks/builders.h"

namespace soapstone::gpu {
namespace {

struct Launches {
  int kernels = 0, contractions = 0, views = 0, others = 0;
};

Launches launches_of(const std::string& network, const models::ParameterValues& sizes = {}) {
  Launches result;
  const auto graph = models::build_model(network, sizes);
  if (!graph) {
    ADD_FAILURE() << graph.error().to_string();
    return result;
  }
  for (const Group& group : group_nodes(*graph)) {
    result.kernels += group.kind == Group::Kind::kKernel;
    result.contractions += group.kind == Group::Kind::kContraction;
    result.views += group.kind == Group::Kind::kView;
    result.others += group.kind == Group::Kind::kOther;
  }
  return result;
}

TEST(Launches, AreThoseOfTheFile) {
  std::string text;
  const auto add = [&](const std::string& name, const Launches& n) {
    text += fmt::format("{}: {} generated, {} contractions, {} views, {} others\n", name, n.kernels,
                        n.contractions, n.views, n.others);
  };
  for (const models::ModelBuilder& builder : models::builders())
    add(std::string(builder.name), launches_of(std::string(builder.name)));
  const Launches one = launches_of("bert_base", {{"layers", 1}});
  const Launches two = launches_of("bert_base", {{"layers", 2}});
  add("a layer of bert_base", {two.kernels - one.kernels, two.contractions - one.contractions,
                               two.views - one.views, two.others - one.others});
  std::ostringstream wanted;
  wanted << std::ifstream(SOAPSTONE_SOURCE_DIR "/tests/golden/launches.txt").rdbuf();
  EXPECT_EQ(text, wanted.str());
}

}  // namespace
}  // namespace soapstone::gpu
