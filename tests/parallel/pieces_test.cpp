// Pieces of tensors are taken and joined by operators, whether their intervals take turns or not.
#include "parallel/pieces/piece_graph.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ops/evaluation/field.h"

namespace soapstone::parallel {
namespace {

using Elements = std::vector<ops::Field::Value>;

core::TensorType type_of(const core::Dims& dims) {
  return {core::DataType::kFloat32, core::to_shape(dims), true};
}

/// The elements of rows of two, 10 · row + column, of these rows.
Elements rows(const IndexSet& set) {
  Elements elements;
  for (const ops::Interval& interval : set)
    for (std::int64_t row = interval.low; row < interval.high; ++row)
      for (std::int64_t column = 0; column < 2; ++column)
        elements.push_back(ops::field::from_int(10 * row + column));
  return elements;
}

Elements computed(core::GraphBuilder builder, core::TensorId result,
                  const std::vector<Elements>& inputs, bool has_gather) {
  builder.set_outputs({result});
  const auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph.ok());
  bool gathers = false;
  for (const core::NodeId id : graph->order()) gathers |= graph->node(id).op->name == "gather";
  EXPECT_EQ(gathers, has_gather);
  return ops::evaluate_graph<ops::Field::Value>(*graph, inputs, 1).value().front();
}

struct Taken {
  IndexSet set;
  bool has_gather;
};

TEST(Pieces, AreTaken) {
  const std::vector<Taken> all = {
      {{{3, 9}}, false},           {{{0, 2}, {6, 8}, {12, 14}}, false},
      {{{7, 9}, {13, 15}}, false}, {{{4, 8}, {10, 14}}, true},  // across turns of six rows
      {{{0, 2}, {6, 9}}, true},                                 // of two lengths
      {{{0, 2}, {5, 7}}, true}};                                // 18 rows are no turns of five
  for (const auto& [set, has_gather] : all) {
    core::GraphBuilder builder;
    const core::TensorId whole = builder.add_input("x", type_of({18, 2}));
    const core::TensorId taken = take_piece(builder, whole, {{set, {{0, 2}}}});
    EXPECT_EQ(computed(std::move(builder), taken, {rows({{0, 18}})}, has_gather), rows(set));
  }
}

struct Joined {
  std::vector<IndexSet> parts;
  bool has_gather;
};

TEST(Pieces, AreJoinedInTheOrderOfTheirRows) {
  const std::vector<Joined> all = {
      {{{{0, 4}}, {{4, 9}}}, false},
      {{{{0, 2}, {6, 8}}, {{2, 6}, {8, 12}}}, false},
      {{{{1, 2}, {9, 10}}, {{4, 6}, {11, 13}}, {{7, 8}, {15, 16}}}, false},  // with gaps
      {{{{0, 2}, {6, 8}}, {{2, 5}, {8, 12}}}, true},                         // of two lengths
      {{{{6, 8}}, {{0, 2}}}, true},                                          // the last one first
      {{{{0, 2}, {4, 6}, {8, 10}}, {{2, 4}, {6, 8}}}, true}};                // one has a turn more
  for (const auto& [parts, has_gather] : all) {
    core::GraphBuilder builder;
    std::vector<core::TensorId> cells;
    std::vector<Elements> inputs;
    IndexSet rows_of_all;
    for (const IndexSet& part : parts) {
      cells.push_back(builder.add_input("x", type_of({count(part), 2})));
      inputs.push_back(rows(part));
      rows_of_all.insert(rows_of_all.end(), part.begin(), part.end());
    }
    std::ranges::sort(rows_of_all, {}, &ops::Interval::low);
    const core::TensorId joined = join_pieces(builder, {parts, {{{0, 2}}}}, cells);
    EXPECT_EQ(computed(std::move(builder), joined, inputs, has_gather), rows(rows_of_all));
  }
}

TEST(Pieces, HavePlacesInOthers) {
  const IndexSet whole = {{2, 6}, {8, 12}, {20, 30}};
  EXPECT_EQ(positions_in(whole, {{3, 5}, {8, 9}, {11, 12}, {25, 30}}),
            (IndexSet{{1, 3}, {4, 5}, {7, 8}, {13, 18}}));
  EXPECT_EQ(positions_in(whole, {{2, 12}, {20, 21}}), (IndexSet{{0, 9}}));
  for (const std::int64_t index : {2, 5, 8, 29}) EXPECT_TRUE(has(whole, index)) << index;
  for (const std::int64_t index : {0, 6, 7, 12, 30}) EXPECT_FALSE(has(whole, index)) << index;
}

}  // namespace
}  // namespace soapstone::parallel
