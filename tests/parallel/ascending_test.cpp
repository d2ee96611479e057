// Assignments by ascending cost: all of them, each once, in order.
#include "parallel/elimination/ascending.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace soapstone::parallel {
namespace {

class AscendingAssignmentsTest : public testing::Test {
 protected:
  static constexpr std::size_t kChoices = 3, kVariables = 4;
  static constexpr std::size_t kEnoughSteps = 1'000'000;

  CostTableId table(std::size_t rows) {
    CostTable costs{rows, kChoices, {}};
    for (std::size_t k = 0; k < rows * kChoices; ++k)
      costs.costs.push_back(static_cast<double>(random_() % 100));
    return tables_.intern(std::move(costs));
  }

  /// Each variable with those up to `reach` before it.
  CostGraph graph(std::size_t reach) {
    CostGraph graph;
    std::vector<CostVariableId> variables;
    for (std::size_t v = 0; v < kVariables; ++v) variables.push_back(graph.add(table(1)));
    for (std::size_t a = 0; a < kVariables; ++a)
      for (std::size_t b = a + 1; b < std::min(a + reach + 1, kVariables); ++b)
        graph.connect(variables[a], variables[b], table(kChoices));
    return graph;
  }

  double cost_of(const std::vector<CostGraph>& graphs, const std::vector<std::uint32_t>& choices) {
    double most = 0;
    for (const CostGraph& graph : graphs) most = std::max(most, graph.cost_of(tables_, choices));
    return most;
  }

  std::mt19937 random_{7};
  CostTables tables_;
};

TEST_F(AscendingAssignmentsTest, AreAllThereAreInTheOrderOfTheirCosts) {
  for (int round = 0; round < 20; ++round)
    for (const std::size_t reach : {1, 2, 3})
      for (const std::size_t graph_count : {1, 3}) {
        std::vector<CostGraph> graphs;
        for (std::size_t g = 0; g < graph_count; ++g) graphs.push_back(graph(reach));
        AscendingAssignments assignments(graphs, tables_, {});
        std::set<std::vector<std::uint32_t>> met;
        double before = 0;
        while (const auto next = assignments.next(kImpossible, kEnoughSteps)) {
          EXPECT_DOUBLE_EQ(next->cost, cost_of(graphs, next->choices));
          EXPECT_GE(next->cost, before);
          before = next->cost;
          EXPECT_TRUE(met.insert(next->choices).second);
        }
        EXPECT_EQ(met.size(), 81U);
        EXPECT_FALSE(assignments.has_given_up());
      }
}

TEST_F(AscendingAssignmentsTest, VariablesThatAreNotToldApartAreAtTheirCheapest) {
  const CostGraph chain = graph(1);
  AscendingAssignments assignments({chain}, tables_, {CostVariableId(0), CostVariableId(3)});
  std::set<std::vector<std::uint32_t>> met;
  while (const auto next = assignments.next(kImpossible, kEnoughSteps)) {
    EXPECT_DOUBLE_EQ(next->cost, chain.cost_of(tables_, next->choices));
    std::vector<std::uint32_t> other = next->choices;
    for (other[0] = 0; other[0] < kChoices; ++other[0])
      for (other[3] = 0; other[3] < kChoices; ++other[3])
        EXPECT_GE(chain.cost_of(tables_, other), next->cost);
    met.insert({next->choices[1], next->choices[2]});
  }
  EXPECT_EQ(met.size(), kChoices * kChoices);
}

TEST_F(AscendingAssignmentsTest, EndAtALimitAndGiveUpAfterSoManySteps) {
  const CostGraph chain = graph(1);
  AscendingAssignments assignments({chain}, tables_, {});
  const auto first = assignments.next(kImpossible, kEnoughSteps);
  ASSERT_TRUE(first);
  EXPECT_FALSE(assignments.next(first->cost, kEnoughSteps));
  EXPECT_FALSE(assignments.has_given_up());
  EXPECT_FALSE(assignments.next(kImpossible, 0));
  EXPECT_TRUE(assignments.has_given_up());
}

}  // namespace
}  // namespace soapstone::parallel
