// ONNX's LpNormalization: vectors along one dimension, divided by their length. It computes along
// an axis, which the attribute with that role names; its name is not that of the library's axes.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

constexpr const char* kSquares = "l2";

bool is_euclidean(const core::Attributes& attributes) {
  return attributes.get_text("norm") == kSquares;
}

std::size_t along(const core::Attributes& attributes) {
  return static_cast<std::size_t>(attributes.get_int("along"));
}

std::vector<TensorType> infer_lp_normalization(InferContext& c) {
  if (!require_elements(c, "lp_normalization", Elements::kFloating)) return {};
  const auto axis = require_int(c, "lp_normalization", "along");
  const auto rank = static_cast<std::int64_t>(c.rank(0));
  const std::string& norm = c.attributes().get_text("norm");
  if (!axis ||
      !c.require(*axis >= 0 && *axis < rank, "lp_normalization.along", "no such dimension") ||
      !c.require(norm == "l1" || norm == kSquares, "lp_normalization.norm", "must be l1 or l2"))
    return {};
  return {c.input(0)};
}

Semantics lp_normalization_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& shape = op.outputs[0].shape;
  const std::size_t axis = along(op.attributes);
  const bool euclidean = is_euclidean(op.attributes);
  const auto rest = [&](const Index& i) { return without(i, std::span(&axis, 1)); };
  const auto length = builder.stage(rest(shape), [&](const Index& i) {
    const Expr total = builder.sum_over(shape[axis], [&](const Polynomial& a) {
      Index at = i;
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), a);
      const Expr x = read(0, std::move(at));
      return euclidean ? x * x : apply(Function::kAbs, {x});
    });
    return euclidean ? apply(Function::kSqrt, {total}) : total;
  });
  builder.output(shape,
                 [&](const Index& i) { return read(0, i) * inverse(read(length, rest(i))); });
  return std::move(builder).finish();
}

ReadResult read_lp_normalization(OnnxImport& import) {
  const std::int64_t p = import.int_or("p", 2);
  if (p != 1 && p != 2) return bad_node(import, "p must be 1 or 2");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, import.int_or("axis", -1), input_dims(import, 0).size()));
  return import.append(
      "lp_normalization", {import.input(0)},
      {{"along", Polynomial(axis)}, {"norm", std::string(p == 1 ? "l1" : kSquares)}});
}

core::Status write_lp_normalization(OnnxExport& out) {
  const core::Attributes& attributes = out.node().attributes;
  out.emit_same("LpNormalization", {{"axis", static_cast<std::int64_t>(along(attributes))},
                                    {"p", std::int64_t{is_euclidean(attributes) ? 2 : 1}}});
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> lp_normalization_ops() {
  return {OpDefinition({
      .name = "lp_normalization",
      .equation = "x[…] → y[…] = x/‖x‖ over dimension along",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"along", core::AttributeRole::kAxis, std::nullopt, {}},
              {"norm",
               core::AttributeRole::kVariant,
               std::string(kSquares),
               {std::string("l1"), std::string(kSquares)}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kNormalization,
      .infer = infer_lp_normalization,
      .semantics = lp_normalization_semantics,
      .onnx = OnnxMapping{{reader("LpNormalization", Elements::kFloating, read_lp_normalization)},
                          write_lp_normalization},
  })};
}

}  // namespace soapstone::ops
