// See tiny_catalog.h.
#include "tests/core/tiny_catalog.h"

namespace soapstone::core {

TinyCatalog::TinyCatalog() {
  using Sizes = std::vector<Polynomial>;
  add("relu", 1, 1);
  add("add", 2, 2);
  add("sub", 2, 2);
  add("concat", 1, OpSchema::kAnyNumber, {{"axis", AttributeRole::kAxis, {}, {}}});
  add("split", 1, 1,
      {{"axis", AttributeRole::kAxis, {}, {}}, {"sizes", AttributeRole::kParts, {}, {}}});
  add("full", 0, 0,
      {{"shape", AttributeRole::kShape, {}, {}}, {"value", AttributeRole::kReal, 0.0, {}}});
  add("window", 1, 3,
      {{"pads", AttributeRole::kPad, Sizes{0, 0}, {}},
       {"alpha", AttributeRole::kReal, 1.0, {}},
       {"mode", AttributeRole::kVariant, "same", {}}});
  add("opaque", 0, OpSchema::kAnyNumber);
}

void TinyCatalog::add(std::string name, std::size_t min_inputs, std::size_t max_inputs,
                      std::vector<AttributeSchema> attributes) {
  Op& op = ops_.emplace_back();
  op.name = std::move(name);
  op.attributes = std::move(attributes);
  op.min_inputs = min_inputs;
  op.max_inputs = max_inputs;
}

const OpSchema* TinyCatalog::find(std::string_view name) const {
  for (const Op& op : ops_) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

Result<std::vector<TensorType>> infer_tiny(const OpSchema& op, const Attributes& attributes,
                                           std::span<const TensorType> inputs) {
  if (op.name == "full") return std::vector{f32(attributes.get_sizes("shape"))};
  if (op.name != "concat" && op.name != "split") return std::vector{inputs[0]};
  const auto axis = attributes.get_size("axis").as_constant();
  if (!axis || *axis < 0 || *axis >= static_cast<std::int64_t>(inputs[0].shape.size())) {
    return invalid_input("axis is out of range");
  }
  const auto at = static_cast<std::size_t>(*axis);
  TensorType type = inputs[0];
  if (op.name == "concat") {
    for (const TensorType& other : inputs.subspan(1)) {
      if (other.shape.size() != type.shape.size()) return invalid_input("ranks differ");
      type.shape[at] += other.shape[at];
    }
    return std::vector{type};
  }
  std::vector<TensorType> results;
  for (const Polynomial& size : attributes.get_sizes("sizes")) {
    type.shape[at] = size;
    results.push_back(type);
  }
  return results;
}

TensorId append(GraphBuilder& builder, const OpSchema& op, std::vector<TensorId> inputs,
                Attributes attributes) {
  for (const AttributeSchema& schema : op.attributes) {
    if (!attributes.find(schema.name)) attributes.set(schema.name, *schema.default_value);
  }
  std::vector<TensorType> types;
  for (TensorId id : inputs) types.push_back(id.valid() ? builder.tensor(id).type : TensorType{});
  auto results = infer_tiny(op, attributes, types).value();
  return builder.add_node(op, std::move(attributes), std::move(inputs), std::move(results))[0];
}

TensorType f32(Shape shape) { return {DataType::kFloat32, std::move(shape), true}; }

LiteralPtr constant(std::vector<float> values) {
  return std::make_shared<const Literal>(
      Literal::floats({static_cast<std::int64_t>(values.size())}, values));
}

Graph random_graph(const TinyCatalog& ops, std::mt19937_64& random, int nodes) {
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  GraphBuilder builder("random");
  const Symbol n = builder.symbols().intern("n"), p = builder.symbols().intern("batch size");
  std::vector<TensorId> tensors;
  for (std::size_t i = 0; i < 3; ++i) {
    const Shape shape = {Size(p) * n + 1, Size(static_cast<std::int64_t>(i) + 2)};
    tensors.push_back(builder.add_input("in/" + std::to_string(i), f32(shape)));
  }
  tensors.push_back(builder.add_constant(constant({0.1f, -0.0f}), "t1"));
  tensors.push_back(builder.add_constant(constant({1e-30f})));
  while (nodes-- > 0) {
    const TensorId a = tensors[below(tensors.size())], b = tensors[below(tensors.size())];
    TensorId made;
    switch (below(5)) {
    case 0:
      made = append(builder, ops["add"], {a, b});
      break;
    case 1:
      made = append(builder, ops["sub"], {a, b});
      break;
    case 2:
      made = append(builder, ops["window"], {a, TensorId::none(), b},
                    {{"alpha", 0.25 * static_cast<double>(below(3))}, {"pads", Shape{n, 1}}});
      break;
    case 3:
      made = append(builder, ops["split"], {a},
                    {{"axis", 0}, {"sizes", Shape{Size(n) - 1, Size(2) * n}}});
      break;
    default:
      made = append(builder, ops["relu"], {a});
    }
    if (below(3) == 0) builder.set_name(made, "layer:" + std::to_string(nodes));
    tensors.push_back(made);
  }
  builder.set_outputs({tensors.back(), tensors[below(tensors.size())]});
  return std::move(builder).finish().value();
}

}  // namespace soapstone::core
