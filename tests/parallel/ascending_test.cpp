// Assignments by ascending cost: all of them, each once, in order.
#include "parallel/elimination/ascending.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace soapstone::parallel {
namespace {

TEST(AscendingAssignments, AreAllThereAreInTheOrderOfTheirCosts) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    CostTables tables;
    CostGraph graph;
    constexpr std::size_t kChoices = 3, kVariables = 4;
    const auto table = [&](std::size_t rows) {
      CostTable costs{rows, kChoices, {}};
      for (std::size_t k = 0; k < rows * kChoices; ++k)
        costs.costs.push_back(static_cast<double>(random() % 100));
      return tables.intern(std::move(costs));
    };
    std::vector<CostVariableId> variables;
    for (std::size_t v = 0; v < kVariables; ++v) variables.push_back(graph.add(table(1)));
    for (std::size_t a = 0; a < kVariables; ++a)
      for (std::size_t b = a + 1; b < kVariables; ++b)
        graph.connect(variables[a], variables[b], table(kChoices));
    AscendingAssignments assignments(graph, tables, {1000});
    std::set<std::vector<std::uint32_t>> met;
    double before = 0;
    while (const auto next = assignments.next()) {
      EXPECT_DOUBLE_EQ(next->cost, graph.cost_of(tables, next->choices));
      EXPECT_GE(next->cost, before);
      before = next->cost;
      EXPECT_TRUE(met.insert(next->choices).second);
    }
    EXPECT_EQ(met.size(), 81U);
  }
}

}  // namespace
}  // namespace soapstone::parallel
