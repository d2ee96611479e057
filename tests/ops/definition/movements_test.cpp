// Each operator that states a movement does it, element by element: a reference that knows the
// movement and the attributes by their roles, and no comprehension, says where an element comes
// from.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "ops/analysis/choices.h"
#include "ops/definition/by_role.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using core::AttributeRole;

/// A tensor with its values.
struct HeldTensor {
  Dims dims;
  Values values;

  double at(const Ints& index) const {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) place = place * dims[d] + index[d];
    return values.at(static_cast<std::size_t>(place));
  }
  /// The element that a broadcast to more dimensions reads.
  double broadcast(const Ints& index) const {
    Ints own(index.end() - static_cast<std::ptrdiff_t>(dims.size()), index.end());
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d] == 1) own[d] = 0;
    return at(own);
  }
};

/// One node, the values that it was given, and its attributes by role.
struct Moved {
  const core::Graph& graph;
  const core::Node& node;
  std::vector<HeldTensor> inputs;

  Ints ints(AttributeRole role) const {
    return node.attributes.get_ints(node.op->find_role(role)->name);
  }
};

using ElementOf = std::function<double(const Ints& index, std::size_t output)>;

double cut(const Moved& moved, Ints index) {
  const Ints axes = moved.ints(AttributeRole::kAxes), starts = moved.ints(AttributeRole::kStart),
             steps = moved.ints(AttributeRole::kStep);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    auto& i = index[static_cast<std::size_t>(axes[k])];
    i = starts[k] + i * steps[k];
  }
  return moved.inputs[0].at(index);
}

double joined(const Moved& moved, Ints index) {
  const std::size_t axis = axis_by_role(moved.node);
  for (const HeldTensor& input : moved.inputs) {
    if (index[axis] < input.dims[axis]) return input.at(index);
    index[axis] -= input.dims[axis];
  }
  ADD_FAILURE() << "longer than its operands";
  return 0;
}

double part(const Moved& moved, Ints index, std::size_t output) {
  const Ints parts = moved.ints(AttributeRole::kParts);
  for (std::size_t k = 0; k < output; ++k) index[axis_by_role(moved.node)] += parts[k];
  return moved.inputs[0].at(index);
}

double framed(const Moved& moved, Ints index) {
  const Ints border = moved.ints(AttributeRole::kBorder);
  Ints gap = moved.ints(AttributeRole::kGap);
  gap.resize(index.size(), 0);
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::int64_t place = index[d] - border[d];
    index[d] = place / (gap[d] + 1);
    if (place < 0 || place % (gap[d] + 1) != 0 || index[d] >= moved.inputs[0].dims[d])
      return moved.node.attributes.get_real(moved.node.op->find_role(AttributeRole::kReal)->name);
  }
  return moved.inputs[0].at(index);
}

double selected(const Moved& moved, const Ints& index) {
  const auto axis = static_cast<std::ptrdiff_t>(axis_by_role(moved.node));
  const auto rank = static_cast<std::ptrdiff_t>(moved.inputs[1].dims.size());
  const auto first = index.begin() + axis;
  auto place = static_cast<std::int64_t>(moved.inputs[1].at(Ints(first, first + rank)));
  if (place < 0) place += moved.inputs[0].dims[static_cast<std::size_t>(axis)];
  Ints element(index.begin(), first);
  element.push_back(place);
  element.insert(element.end(), first + rank, index.end());
  return moved.inputs[0].at(element);
}

double permuted(const Moved& moved, const Ints& index) {
  const Ints order = moved.ints(AttributeRole::kPermutation);
  Ints element(index.size());
  for (std::size_t d = 0; d < index.size(); ++d)
    element[static_cast<std::size_t>(order[d])] = index[d];
  return moved.inputs[0].at(element);
}

double converted(const Moved& moved, const Ints& index) {
  const double value = moved.inputs[0].at(index);
  const core::DataType type = moved.graph.tensor(moved.node.outputs[0]).type.data_type;
  if (type == core::DataType::kBool) return value != 0 ? 1 : 0;
  return core::is_floating(type) ? value : std::trunc(value);
}

double on_diagonal(const Moved& moved, const Ints& index) {
  const Ints shape = moved.ints(AttributeRole::kShape);
  bool is_one = index[0] == index[1];
  for (std::size_t d = 2; d < index.size(); ++d) is_one &= index[d] == (shape[d] - 1) / 2;
  return is_one ? 1 : 0;
}

/// None: the operator says nothing about where elements come from.
ElementOf reference(Movement movement, const Moved& moved) {
  switch (movement) {
  case Movement::kNone:
  case Movement::kOther:
    return nullptr;
  case Movement::kReshape:
    return [&](const Ints& i, std::size_t) {
      const HeldTensor position{
          *core::concrete(moved.graph.tensor(moved.node.outputs[0]).type.shape), {}};
      std::int64_t place = 0;
      for (std::size_t d = 0; d < i.size(); ++d) place = place * position.dims[d] + i[d];
      return moved.inputs[0].values.at(static_cast<std::size_t>(place));
    };
  case Movement::kPermute:
    return [&](const Ints& i, std::size_t) { return permuted(moved, i); };
  case Movement::kRepeat:
    return [&](const Ints& i, std::size_t) { return moved.inputs[0].broadcast(i); };
  case Movement::kCut:
    return [&](const Ints& i, std::size_t) { return cut(moved, i); };
  case Movement::kSplit:
    return [&](const Ints& i, std::size_t output) { return part(moved, i, output); };
  case Movement::kJoin:
    return [&](const Ints& i, std::size_t) { return joined(moved, i); };
  case Movement::kFrame:
    return [&](const Ints& i, std::size_t) { return framed(moved, i); };
  case Movement::kSelect:
    return [&](const Ints& i, std::size_t) { return selected(moved, i); };
  case Movement::kChoose:
    return [&](const Ints& i, std::size_t) {
      return moved.inputs[moved.inputs[0].broadcast(i) != 0 ? 1 : 2].broadcast(i);
    };
  case Movement::kConvert:
    return [&](const Ints& i, std::size_t) { return converted(moved, i); };
  case Movement::kFill:
    return [&](const Ints&, std::size_t) { return fill_value(moved.node); };
  case Movement::kDiagonal:
    return [&](const Ints& i, std::size_t) { return on_diagonal(moved, i); };
  }
  return nullptr;
}

/// Every element of that shape, in order.
Values all_of(const Dims& dims, std::size_t output, const ElementOf& element) {
  Values values;
  for (std::int64_t k = 0; k < core::element_count(dims); ++k) {
    Ints index(dims.size());
    std::int64_t rest = k;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    values.push_back(element(index, output));
  }
  return values;
}

std::size_t number_of_results(const OpExample& example) {
  std::size_t count = 1;
  for (std::size_t at = 0; (at = example.results.find("  ", at)) != std::string::npos; at += 2)
    ++count;
  return count;
}

std::vector<OpExample> movement_examples() {
  std::vector<OpExample> examples = op_examples();
  examples.push_back({"x: f32[2, 3]", "cast(x; to=\"f16\")", "f16[2, 3]"});
  examples.push_back({"", "eye(; shape=[2, 2, 4])", "f32[2, 2, 4]"});
  examples.push_back({"x: f32[2]  y: f32[3]", "concat(x, y; axis=0)", "f32[5]"});
  return examples;
}

Dims dims_of(const core::Graph& graph, core::TensorId id) {
  return *core::concrete(graph.tensor(id).type.shape);
}

TEST(Movements, TakeEachElementFromItsPlace) {
  std::set<Movement> seen;
  for (const OpExample& example : movement_examples()) {
    SCOPED_TRACE(example.call);
    const core::Graph graph = graph_of(example.inputs, example.call, number_of_results(example));
    const core::Node& node = graph.node(graph.order()[0]);
    std::vector<Values> inputs = random_inputs(graph, 1, example.positive);
    // Positions count from the end, too.
    if (node.op->movement == Movement::kSelect) inputs[1][0] = -1;
    Moved moved{graph, node, {}};
    for (std::size_t k = 0; k < inputs.size(); ++k)
      moved.inputs.push_back({dims_of(graph, graph.inputs()[k]), inputs[k]});
    seen.insert(node.op->movement);
    const ElementOf element = reference(node.op->movement, moved);
    if (!element) continue;
    const std::vector<Values> results = run(graph, inputs);
    for (std::size_t k = 0; k < results.size(); ++k)
      EXPECT_EQ(results[k], all_of(dims_of(graph, node.outputs[k]), k, element)) << k;
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Movement::kOther) + 1);
}

/// fill_value() and the value of a frame are the one number that the node names.
TEST(Movements, OfOneNumberNameOne) {
  for (const auto& op : registry().all()) {
    if (op->movement != Movement::kFill && op->movement != Movement::kFrame) continue;
    EXPECT_EQ(
        std::ranges::count(op->attributes, AttributeRole::kReal, &core::AttributeSchema::role), 1)
        << op->name;
  }
}

// --- the same, read off the definition
// ------------------------------------------------------------

std::optional<Choices> choices_in(const OpExample& example) {
  const core::Graph graph = graph_of(example.inputs, example.call, number_of_results(example));
  const core::NodeId node = graph.order()[0];
  return choices_of(semantics_of(graph, node), graph.node(node).attributes);
}

TEST(Choices, AreEvidentInWhatMoves) {
  for (const OpExample& example : movement_examples()) {
    const Movement movement = registry().find(example.op())->movement;
    if (movement == Movement::kNone || movement == Movement::kOther ||
        movement == Movement::kConvert)
      continue;
    EXPECT_TRUE(choices_in(example)) << example.call;
  }
}

TEST(Choices, TellComputingFromChoosing) {
  const std::set<std::string> choosing{"min",        "max",        "relu",     "clip",
                                       "reduce_max", "reduce_min", "max_pool", "where"};
  const std::set<std::string> computing{"add",    "sub",        "mul",        "neg",  "abs",
                                        "matmul", "reduce_sum", "leaky_relu", "conv", "softmax",
                                        "cumsum", "iota",       "reduce_mean"};
  for (const OpExample& example : op_examples()) {
    const bool chooses = choices_in(example).has_value();
    EXPECT_TRUE(chooses || !choosing.contains(example.op())) << example.call;
    // A sum over nothing is no sum.
    const bool is_trivial = example.call.find("axes=[]") != std::string::npos;
    EXPECT_TRUE(!chooses || is_trivial || !computing.contains(example.op())) << example.call;
  }
}

TEST(Choices, TellWhatIsChosenFromWhatDecides) {
  using Operands = std::set<std::uint32_t>;
  const auto gathered =
      choices_in({"x: f32[4, 3]  i: i64[2]", "gather(x, i; axis=1)", "f32[4, 2]"});
  ASSERT_TRUE(gathered);
  EXPECT_EQ(gathered->chosen, Operands{0});
  EXPECT_EQ(gathered->compared, Operands{1});
  const auto chosen = choices_in({"c: bool[3]  a: f32[3]  b: f32[3]", "where(c, a, b)", "f32[3]"});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->chosen, (Operands{1, 2}));
  EXPECT_EQ(chosen->compared, Operands{0});
  const auto larger = choices_in({"a: f32[3]  b: f32[3]", "max(a, b)", "f32[3]"});
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->compared, (Operands{0, 1}));
  EXPECT_FALSE(larger->names_numbers);
  const auto padded = choices_in({"x: i64[3]", "pad(x; pads=[1, 1], value=7.0)", "i64[5]"});
  ASSERT_TRUE(padded);
  EXPECT_TRUE(padded->names_numbers);
}

/// A definition of one stage over a tensor of that size.
Semantics stage_of(const Polynomial& size,
                   const std::function<Expr(SemanticsBuilder&, const Polynomial&)>& body) {
  SemanticsBuilder builder(2);
  builder.output({size}, [&](const std::vector<Polynomial>& i) { return body(builder, i[0]); });
  return std::move(builder).finish();
}

/// The operator has an attribute that is 7.
bool chooses(const std::function<Expr(SemanticsBuilder&, const Polynomial&)>& body) {
  return choices_of(stage_of(6, body), core::Attributes{{"value", 7.0}}).has_value();
}

TEST(Choices, SumsOfSeveralElementsAreComputed) {
  EXPECT_TRUE(chooses([](auto&, const Polynomial& i) {
    return guard({less(i, 3)}, read(0, {i})) + guard({at_least(i, 3)}, read(1, {i}));
  }));
  // Both pieces hold position 3.
  EXPECT_FALSE(chooses([](auto&, const Polynomial& i) {
    return guard({less(i, 4)}, read(0, {i})) + guard({at_least(i, 3)}, read(1, {i}));
  }));
  EXPECT_FALSE(chooses([](auto& b, const Polynomial&) {
    return b.sum_over(6, [](const Polynomial& v) { return read(0, {v}); });
  }));
  // The place depends on the position that is summed over: several may be equal.
  EXPECT_FALSE(chooses([](auto& b, const Polynomial&) {
    return b.sum_over(6, [](const Polynomial& v) {
      return apply(Function::kEqual, {read(1, {v}), index_value(v)}) * read(0, {v});
    });
  }));
  EXPECT_FALSE(chooses([](auto& b, const Polynomial& i) {
    const Symbol v = b.fresh(), w = b.fresh();
    return sum({{v, 0, 3}, {w, 0, 3}}, read(0, {v}), {equal(Polynomial(v) + w, i)});
  }));
  const auto framed = [](std::int64_t size, std::int64_t hole) {
    return chooses([=](auto&, const Polynomial& i) {
      return guard({less(i, size)}, read(0, {i})) +
             number(7.0) * (number(1.0) - guard({less(i, hole)}, number(1.0)));
    });
  };
  EXPECT_TRUE(framed(3, 3));
  EXPECT_FALSE(framed(3, 2)) << "both at position 2";
  EXPECT_FALSE(chooses([](auto&, const Polynomial& i) { return number(2.0) + read(0, {i}); }));
  EXPECT_FALSE(chooses([](auto&, const Polynomial&) { return number(2.0); }));
}

}  // namespace
}  // namespace soapstone::ops::test
