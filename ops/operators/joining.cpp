// Operators that cut a tensor into parts and put parts together: concat and split.
#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;

// --- concat -------------------------------------------------------------------------------------

std::vector<TensorType> infer_concat(InferContext& c) {
  if (!require_one_type(c, "concat", Elements::kNumbers)) return {};
  const auto axis = require_axis(c, "concat", c.rank(0));
  if (!axis) return {};
  Shape result = c.shape(0);
  for (std::size_t k = 1; k < c.input_count(); ++k) {
    if (!c.require_rank(k, result.size(), "concat.rank")) return {};
    for (std::size_t d = 0; d < result.size(); ++d)
      if (d != *axis && !c.require_equal(c.shape(k)[d], result[d], "concat.sizes")) return {};
    result[*axis] += c.shape(k)[*axis];
  }
  return {{c.input(0).data_type, std::move(result)}};
}

Semantics concat_semantics(const OpInstance& op) {
  const auto count = static_cast<std::uint32_t>(op.inputs.size());
  SemanticsBuilder builder(count);
  const std::size_t axis = axis_of(op.attributes);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    Expr total = number(0.0);
    Polynomial offset = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      const Polynomial end = offset + op.inputs[k].shape[axis];
      Index element = i;
      element[axis] = i[axis] - offset;
      total = total +
              guard({at_least(i[axis], offset), less(i[axis], end)}, read(k, std::move(element)));
      offset = end;
    }
    return total;
  });
  return std::move(builder).finish();
}

ReadResult read_concat(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, import.int_or("axis", 1), input_dims(import, 0).size()));
  std::vector<TensorId> inputs;
  for (std::size_t k = 0; k < import.input_count(); ++k) inputs.push_back(import.input(k));
  if (inputs.size() == 1) return inputs;
  return import.append("concat", std::move(inputs), {{"axis", Polynomial(axis)}});
}

core::Status write_concat(OnnxExport& out) {
  const std::int64_t axis = out.node().attributes.get_int("axis");
  out.emit_same("Concat", {{"axis", axis}});
  return core::Done{};
}

OpDefinition concat() {
  return OpDefinition({
      .name = "concat",
      .equation = "x[a…,s,b…]… → y[a…,Σs,b…] = the inputs one behind the other in dimension axis",
      .attributes = std::vector{axis_attribute()},
      .inputs = Arity(1, core::OpSchema::kAnyNumber),
      .op_class = OpClass::kMovement,
      .movement = Movement::kJoin,
      .infer = infer_concat,
      .semantics = concat_semantics,
      .onnx = OnnxMapping{{reader("Concat", Elements::kNumbers, read_concat)}, write_concat},
  });
}

// --- split --------------------------------------------------------------------------------------

std::vector<TensorType> infer_split(InferContext& c) {
  if (!require_elements(c, "split", Elements::kNumbers)) return {};
  const auto axis = require_axis(c, "split", c.rank(0));
  if (!axis) return {};
  std::vector<TensorType> results;
  Polynomial total = 0;
  for (const Polynomial& size : c.attributes().get_sizes("sizes")) {
    if (!c.require_at_least(size, 0, "split.size")) return {};
    results.push_back(c.input(0));
    results.back().shape[*axis] = size;
    total += size;
  }
  if (!c.require(!results.empty(), "split.results", "sizes must not be empty") ||
      !c.require_equal(total, c.shape(0)[*axis], "split.sizes"))
    return {};
  return results;
}

Semantics split_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const std::size_t axis = axis_of(op.attributes);
  Polynomial offset = 0;
  for (const TensorType& part : op.outputs) {
    builder.output(part.shape, [&](Index i) {
      i[axis] += offset;
      return read(0, std::move(i));
    });
    offset += part.shape[axis];
  }
  return std::move(builder).finish();
}

/// Sizes that are not given are equal; since opset 18 the last may be smaller.
ReadResult read_split(OnnxImport& import) {
  const core::Dims x = input_dims(import, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             non_negative_axis(import, import.int_or("axis", 0), x.size()));
  std::optional<std::vector<std::int64_t>> sizes = import.ints("split");
  if (import.opset() >= 13) {
    SOAPSTONE_ASSIGN_OR_RETURN(sizes, import.ints_or_input("split", 1));
  }
  if (!sizes) {
    const auto parts = static_cast<std::int64_t>(import.output_count());
    const std::int64_t whole = x[static_cast<std::size_t>(axis)];
    if (parts < 1 || import.int_or("num_outputs", parts) != parts)
      return bad_node(import, "num_outputs is not the number of its outputs");
    if (import.opset() < 18 && whole % parts != 0)
      return bad_node(import, fmt::format("{} cannot be split into {} equal parts", whole, parts));
    const std::int64_t part = (whole + parts - 1) / parts;
    sizes.emplace(static_cast<std::size_t>(parts), part);
    sizes->back() = whole - part * (parts - 1);
  }
  if (sizes->size() != import.output_count())
    return bad_node(import, "its outputs are not as many as its sizes");
  if (sizes->size() == 1 && sizes->front() == x[static_cast<std::size_t>(axis)])
    return std::vector{import.input(0)};
  return import.append("split", {import.input(0)},
                       {{"axis", Polynomial(axis)}, {"sizes", to_sizes(*sizes)}});
}

core::Status write_split(OnnxExport& out) {
  Emitter emitter(out);
  OnnxNode node{"Split", {}, {emitter.input(0)}, {}, {}};
  for (TensorId id : out.node().outputs) node.outputs.push_back(out.name(id));
  node.attributes.emplace_back("axis", emitter.attributes().get_int("axis"));
  const std::vector<std::int64_t> sizes = emitter.attributes().get_ints("sizes");
  if (out.opset() < 13)
    node.attributes.emplace_back("split", sizes);
  else
    node.inputs.push_back(emitter.ints(sizes));
  out.emit(std::move(node));
  return core::Done{};
}

OpDefinition split() {
  return OpDefinition({
      .name = "split",
      .equation = "x[a…,s,b…] → y[a…,size,b…] for each size: consecutive parts of dimension axis",
      .attributes =
          std::vector<AttributeSchema>{axis_attribute(),
                                       {"sizes", AttributeRole::kParts, std::nullopt, {}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kSplit,
      .infer = infer_split,
      .semantics = split_semantics,
      .onnx = OnnxMapping{{reader("Split", Elements::kNumbers, read_split, 2)}, write_split},
  });
}

}  // namespace

std::vector<OpDefinition> joining_ops() { return {concat(), split()}; }

}  // namespace soapstone::ops
