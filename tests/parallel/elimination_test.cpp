// The least assignment of a cost graph against all assignments.
#include <gtest/gtest.h>

#include <random>

#include "parallel/elimination/cost_graph.h"

namespace soapstone::parallel {
namespace {

struct Instance {
  CostGraph graph;
  std::vector<std::uint32_t> choices;  // how many a variable has
};

double drawn_cost(std::mt19937& random, double impossible) {
  if (std::uniform_real_distribution<>(0, 1)(random) < impossible) return kImpossible;
  return static_cast<double>(random() % 1000);  // whole numbers: sums are exact in any order
}

CostTableId drawn(CostTables& tables, std::mt19937& random, std::size_t rows, std::size_t columns,
                  double impossible) {
  CostTable table{rows, columns, {}};
  for (std::size_t k = 0; k < rows * columns; ++k)
    table.costs.push_back(drawn_cost(random, impossible));
  return tables.intern(std::move(table));
}

Instance random_instance(CostTables& tables, std::mt19937& random, double density) {
  Instance instance;
  const std::size_t variables = 1 + random() % 8;
  for (std::size_t v = 0; v < variables; ++v) {
    instance.choices.push_back(1 + random() % 4);
    instance.graph.add(drawn(tables, random, 1, instance.choices.back(), 0.05));
  }
  for (std::size_t a = 0; a < variables; ++a)
    for (std::size_t b = a + 1; b < variables; ++b) {
      if (std::uniform_real_distribution<>(0, 1)(random) > density) continue;
      const bool is_turned = random() % 2 == 0;
      const std::size_t from = is_turned ? b : a, to = is_turned ? a : b;
      instance.graph.connect(
          CostVariableId(from), CostVariableId(to),
          drawn(tables, random, instance.choices[from], instance.choices[to], 0.1));
    }
  return instance;
}

double least_by_trying_all(const Instance& instance, const CostTables& tables) {
  std::vector<std::uint32_t> choices(instance.choices.size(), 0);
  double least = kImpossible;
  for (;;) {
    least = std::min(least, instance.graph.cost_of(tables, choices));
    std::size_t v = 0;
    while (v < choices.size() && ++choices[v] == instance.choices[v]) choices[v++] = 0;
    if (v == choices.size()) return least;
  }
}

TEST(Elimination, AgreesWithAllAssignments) {
  std::mt19937 random(7);
  EliminationOptions all_cases;
  all_cases.most_cases = 1 << 20;
  for (int k = 0; k < 500; ++k) {
    CostTables tables;
    const Instance instance = random_instance(tables, random, 0.1 * static_cast<double>(k % 11));
    const Assignment found = least_assignment(instance.graph, tables, all_cases);
    const double least = least_by_trying_all(instance, tables);
    ASSERT_EQ(found.cost, least) << "graph " << k;
    if (least == kImpossible) continue;
    ASSERT_EQ(instance.graph.cost_of(tables, found.choices), least) << "graph " << k;
    ASSERT_LE(found.lower_bound, least) << "graph " << k;
    ASSERT_GE(found.lower_bound, least * (1 - 1e-9)) << "graph " << k;
  }
}

TEST(Elimination, MessagesBoundFromBelow) {
  std::mt19937 random(8);
  EliminationOptions no_cases;
  no_cases.most_cases = 0;
  int below = 0, found_best = 0, solvable = 0;
  for (int k = 0; k < 300; ++k) {
    CostTables tables;
    const Instance instance = random_instance(tables, random, 0.9);
    const Assignment found = least_assignment(instance.graph, tables, no_cases);
    const double least = least_by_trying_all(instance, tables);
    if (least == kImpossible) continue;
    ASSERT_LE(found.lower_bound, least) << "graph " << k;
    ASSERT_GE(found.cost, least) << "graph " << k;
    ++solvable;
    found_best += found.cost == least ? 1 : 0;
    below += found.lower_bound < least * (1 - 1e-6) ? 1 : 0;
  }
  EXPECT_GT(below, 10) << "the instances are too easy to show a gap";
  EXPECT_GT(found_best, solvable * 8 / 10);
}

/// Like a recurrent network: a cell for each layer and step, with neighbors in both, and a weight
/// for each layer that all of its steps read.
TEST(Elimination, MessagesComeCloseOnGridsWithSharedWeights) {
  constexpr std::uint32_t kGrids = 20;
  double gaps = 0;
  for (std::uint32_t seed = 0; seed < kGrids; ++seed) {
    std::mt19937 random(seed);
    CostTables tables;
    CostGraph graph;
    constexpr std::size_t kLayers = 4, kSteps = 30, kChoices = 6;
    const auto own = [&] { return graph.add(drawn(tables, random, 1, kChoices, 0)); };
    // What stays as it is costs nothing.
    const auto change = [&] {
      CostTable table = tables[drawn(tables, random, kChoices, kChoices, 0)];
      for (std::size_t c = 0; c < kChoices; ++c) table.costs[c * kChoices + c] = 0;
      return tables.intern(std::move(table));
    };
    const CostTableId along = change(), across = change(), reads = change();
    std::vector<CostVariableId> weights, cells;
    for (std::size_t l = 0; l < kLayers; ++l) weights.push_back(own());
    for (std::size_t s = 0; s < kSteps; ++s)
      for (std::size_t l = 0; l < kLayers; ++l) {
        cells.push_back(own());
        graph.connect(weights[l], cells.back(), reads);
        if (l > 0) graph.connect(cells[cells.size() - 2], cells.back(), across);
        if (s > 0) graph.connect(cells[cells.size() - 1 - kLayers], cells.back(), along);
      }
    const Assignment found = least_assignment(graph, tables);
    ASSERT_LT(found.cost, kImpossible) << "seed " << seed;
    EXPECT_EQ(graph.cost_of(tables, found.choices), found.cost) << "seed " << seed;
    const double gap = found.cost / found.lower_bound - 1;
    EXPECT_LE(gap, 0.15) << "seed " << seed;
    gaps += gap;
  }
  EXPECT_LE(gaps / kGrids, 0.05);
}

TEST(Elimination, EndsWithABoundOnLargeGraphs) {
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    CostTables tables;
    CostGraph graph;
    std::vector<std::size_t> choices(5 + random() % 30);
    for (std::size_t& count : choices)
      graph.add(drawn(tables, random, 1, count = 1 + random() % 3, 0));
    const std::size_t edges = choices.size() * (1 + random() % 3);
    for (std::size_t e = 0; e < edges; ++e) {
      const std::size_t a = random() % choices.size(), b = random() % choices.size();
      if (a != b)
        graph.connect(CostVariableId(a), CostVariableId(b),
                      drawn(tables, random, choices[a], choices[b], 0));
    }
    EliminationOptions few_cases;
    few_cases.most_cases = random() % 2 == 0 ? 0 : 20;
    const Assignment found = least_assignment(graph, tables, few_cases);
    ASSERT_EQ(graph.cost_of(tables, found.choices), found.cost) << "seed " << seed;
    ASSERT_LE(found.lower_bound, found.cost) << "seed " << seed;
  }
}

TEST(Elimination, EqualBlocksCostAsMuchAsOne) {
  std::mt19937 random(9);
  CostTables tables;
  const CostTableId own = drawn(tables, random, 1, 6, 0), first = drawn(tables, random, 6, 6, 0),
                    second = drawn(tables, random, 6, 6, 0), past = drawn(tables, random, 6, 6, 0);
  const auto chain = [&](std::size_t blocks) {
    CostGraph graph;
    CostVariableId last = graph.add(own);
    for (std::size_t b = 0; b < blocks; ++b) {
      const CostVariableId inner = graph.add(own), next = graph.add(own);
      graph.connect(last, inner, first);
      graph.connect(inner, next, second);
      graph.connect(last, next, past);
      last = next;
    }
    return least_assignment(graph, tables);
  };
  chain(256);
  const std::size_t known = tables.size();
  const Assignment longer = chain(512);
  EXPECT_LT(tables.size(), known + 40);
  EXPECT_GT(longer.cost, 0);
}

}  // namespace
}  // namespace soapstone::parallel
