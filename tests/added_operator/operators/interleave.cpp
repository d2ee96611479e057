// The elements of several tensors by turns, and the way back, as rotary embeddings use them. One
// joins any number of operands, the other has as many results as parts. ONNX has neither: models
// call them by the names of a domain of their own, and they are written as what ONNX has.
#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;

constexpr const char* kDomain = "org.example";

AttributeSchema dimension() { return {"along", AttributeRole::kAxis, std::nullopt, {}}; }

std::size_t dimension_of(const core::Attributes& attributes) {
  return static_cast<std::size_t>(attributes.get_int("along"));
}

std::optional<std::size_t> require_dimension(InferContext& c, std::string_view op) {
  const auto axis = require_int(c, op, "along");
  const auto rank = static_cast<std::int64_t>(c.rank(0));
  if (!axis || !c.require(*axis >= 0 && *axis < rank, label(op, "along"), "no such dimension"))
    return std::nullopt;
  return static_cast<std::size_t>(*axis);
}

OnnxReader reader_of_domain(std::string op_type, ReadFunction read) {
  OnnxReader result = reader(std::move(op_type), Elements::kNumbers, std::move(read));
  result.domain = kDomain;
  return result;
}

// --- interleave ---------------------------------------------------------------------------------

std::vector<TensorType> infer_interleave(InferContext& c) {
  if (!require_one_type(c, "interleave", Elements::kNumbers)) return {};
  const auto axis = require_dimension(c, "interleave");
  if (!axis) return {};
  for (std::size_t k = 1; k < c.input_count(); ++k) {
    if (!c.require_rank(k, c.rank(0), "interleave.rank")) return {};
    for (std::size_t d = 0; d < c.rank(0); ++d)
      if (!c.require_equal(c.shape(k)[d], c.shape(0)[d], "interleave.sizes")) return {};
  }
  TensorType result = c.input(0);
  result.shape[*axis] *= static_cast<std::int64_t>(c.input_count());
  return {std::move(result)};
}

Semantics interleave_semantics(const OpInstance& op) {
  const auto count = static_cast<std::uint32_t>(op.inputs.size());
  SemanticsBuilder builder(count);
  const std::size_t axis = dimension_of(op.attributes);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    Expr total = number(0.0);
    for (std::uint32_t k = 0; k < count; ++k)
      total = total + builder.sum_over(op.inputs[0].shape[axis], [&](const Polynomial& turn) {
        Index element = i;
        element[axis] = turn;
        return guard({equal(turn * std::int64_t{count} + std::int64_t{k}, i[axis])},
                     read(k, std::move(element)));
      });
    return total;
  });
  return std::move(builder).finish();
}

ReadResult read_interleave(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, import.int_or("axis", -1), input_dims(import, 0).size()));
  std::vector<TensorId> inputs;
  for (std::size_t k = 0; k < import.input_count(); ++k) inputs.push_back(import.input(k));
  return import.append("interleave", std::move(inputs), {{"along", Polynomial(axis)}});
}

/// Each operand as rows of one element, side by side, and read as one row.
core::Status write_interleave(OnnxExport& out) {
  Emitter emitter(out);
  const std::size_t axis = dimension_of(emitter.attributes());
  core::Dims rows = emitter.dims(0);
  const auto turn = rows.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
  rows.insert(turn, 1);
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < out.node().inputs.size(); ++k)
    parts.push_back(emitter.reshape(emitter.input(k), rows));
  core::Dims result = emitter.dims(0);
  result[axis] *= static_cast<std::int64_t>(parts.size());
  const auto joined = static_cast<std::int64_t>(axis) + 1;
  emitter.reshape(emitter.emit("Concat", std::move(parts), {{"axis", joined}}), result, true);
  return core::Done{};
}

OpDefinition interleave() {
  return OpDefinition({
      .name = "interleave",
      .equation = "x[…,s,…]… → y[…,ns,…] = one element of each input by turns in dimension along",
      .attributes = std::vector{dimension()},
      .inputs = Arity(1, core::OpSchema::kAnyNumber),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .infer = infer_interleave,
      .semantics = interleave_semantics,
      .onnx = OnnxMapping{{reader_of_domain("Interleave", read_interleave)}, write_interleave},
  });
}

// --- deinterleave -------------------------------------------------------------------------------

std::vector<TensorType> infer_deinterleave(InferContext& c) {
  if (!require_elements(c, "deinterleave", Elements::kNumbers)) return {};
  const auto axis = require_dimension(c, "deinterleave");
  const std::vector<Polynomial>& lengths = c.attributes().get_sizes("lengths");
  if (!axis || !c.require(!lengths.empty(), "deinterleave.results", "lengths must not be empty"))
    return {};
  const auto count = static_cast<std::int64_t>(lengths.size());
  std::vector<TensorType> results(lengths.size(), c.input(0));
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    if (!c.require_equal(lengths[k] * count, c.shape(0)[*axis], "deinterleave.lengths")) return {};
    results[k].shape[*axis] = lengths[k];
  }
  return results;
}

Semantics deinterleave_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const std::size_t axis = dimension_of(op.attributes);
  const auto count = static_cast<std::int64_t>(op.outputs.size());
  for (std::int64_t k = 0; k < count; ++k)
    builder.output(op.outputs[static_cast<std::size_t>(k)].shape, [&](Index i) {
      i[axis] = i[axis] * count + k;
      return read(0, std::move(i));
    });
  return std::move(builder).finish();
}

ReadResult read_deinterleave(OnnxImport& import) {
  const core::Dims x = input_dims(import, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             non_negative_axis(import, import.int_or("axis", -1), x.size()));
  const auto count = static_cast<std::int64_t>(import.output_count());
  const std::int64_t whole = x[static_cast<std::size_t>(axis)];
  if (count < 1 || whole % count != 0) return bad_node(import, "its parts are not equally long");
  const std::vector<Polynomial> lengths(import.output_count(), Polynomial(whole / count));
  return import.append("deinterleave", {import.input(0)},
                       {{"along", Polynomial(axis)}, {"lengths", lengths}});
}

core::Status write_deinterleave(OnnxExport& out) {
  if (out.opset() < 10) return cannot_write(out, "Slice has steps since opset 10");
  Emitter emitter(out);
  const auto axis = static_cast<std::int64_t>(dimension_of(emitter.attributes()));
  const std::int64_t end = emitter.dims(0)[static_cast<std::size_t>(axis)];
  const auto count = static_cast<std::int64_t>(out.node().outputs.size());
  for (std::int64_t k = 0; k < count; ++k)
    out.emit({"Slice",
              {},
              {emitter.input(0), emitter.ints({k}), emitter.ints({end}), emitter.ints({axis}),
               emitter.ints({count})},
              {out.name(out.node().outputs[static_cast<std::size_t>(k)])},
              {}});
  return core::Done{};
}

OpDefinition deinterleave() {
  return OpDefinition({
      .name = "deinterleave",
      .equation =
          "x[…,ns,…] → y[…,s,…]… = every n-th element in dimension along, from the first on, "
          "from the second on, …",
      .attributes =
          std::vector<AttributeSchema>{dimension(),
                                       {"lengths", AttributeRole::kParts, std::nullopt, {}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .infer = infer_deinterleave,
      .semantics = deinterleave_semantics,
      .onnx =
          OnnxMapping{{reader_of_domain("Deinterleave", read_deinterleave)}, write_deinterleave},
  });
}

}  // namespace

std::vector<OpDefinition> interleave_ops() { return {interleave(), deinterleave()}; }

}  // namespace soapstone::ops
