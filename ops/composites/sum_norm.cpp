// `sum_layer_norm` and `sum_rms_norm`: a residual sum and the normalization that follows it, with
// the sum as a second result for whoever adds to it next.
#include "ops/composites/composite_operators.h"
#include "ops/definition/indexing.h"

namespace soapstone::ops {
namespace {

struct SumNorm {
  const char* name;
  const char* onnx;
  const char* norm;  ///< Our operator behind the sum.
  const char* equation;
  bool has_bias;  ///< As its fourth input.
};

constexpr SumNorm kSumNorms[] = {
    {"sum_layer_norm", "SkipLayerNormalization", "layer_norm",
     "x[…,n] y[…,n] scale[n] bias[n]? → layer_norm(x + y) over the last dimension, x + y", true},
    {"sum_rms_norm", "SkipSimplifiedLayerNormalization", "rms_norm",
     "x[…,n] y[…,n] scale[n] → rms_norm(x + y) over the last dimension, x + y", false},
};

std::vector<TensorId> normalized(const SumNorm& op, Expansion& e, TensorId sum) {
  if (!sum.valid()) return {sum, sum};
  std::vector<TensorId> inputs{sum, e.input(2)};
  if (op.has_bias && e.has_input(3)) inputs.push_back(e.input(3));
  const auto last = static_cast<std::int64_t>(e.type(sum).shape.size()) - 1;
  const TensorId y =
      e.append(op.norm, std::move(inputs),
               {{"axis", Polynomial(last)}, {"epsilon", e.attributes().get_real("epsilon")}});
  return {y, sum};
}

std::vector<TensorId> expand_sum_norm(const SumNorm& op, Expansion& e) {
  return normalized(op, e, e.append("add", {e.input(0), e.input(1)}));
}

void check_sum_norm(const SumNorm& op, InferContext& c) {
  if (!require_one_type(c, op.name, Elements::kFloating) ||
      !c.require(c.rank(0) >= 1 && c.rank(0) == c.rank(1), label(op.name, "rank"),
                 "both summands must have the same dimensions"))
    return;
  for (std::size_t d = 0; d < c.rank(0); ++d)
    if (!c.require_equal(c.shape(0)[d], c.shape(1)[d], label(op.name, "summands"))) return;
  for (std::size_t k = 2; k < c.input_count(); ++k)
    if (c.has_input(k) &&
        (!c.require_rank(k, 1, label(op.name, "parameter_rank")) ||
         !c.require_equal(c.shape(k)[0], c.shape(0).back(), label(op.name, "parameters"))))
      return;
}

/// Its statistics are no results of ours. ONNX Runtime adds a bias of its own to the sum.
ReadFunction read_skip_norm(const SumNorm& op) {
  return [&op](OnnxImport& import) -> ReadResult {
    if (!has_input(import, 1) || !has_input(import, 2))
      return bad_node(import, "a summand or the scale is missing");
    const core::Dims dims = input_dims(import, 0);
    if (dims.size() != 2 && dims.size() != 3)
      return cannot_read(import, "summands of other than two or three dimensions");
    // Its result has the dimensions of the first summand; the second may be one for all items.
    core::Dims others = dims;
    if (dims.size() == 3 && input_dims(import, 1) == core::Dims{1, dims[1], dims[2]}) others[0] = 1;
    SOAPSTONE_RETURN_IF_ERROR(require_dims(import, 1, others));
    for (std::size_t k = 2; k < import.input_count(); ++k)
      if (has_input(import, k)) SOAPSTONE_RETURN_IF_ERROR(require_dims(import, k, {dims.back()}));
    const std::size_t of_sum = op.has_bias ? 4 : 3;
    std::vector<TensorId> inputs{import.input(0), import.input(1), import.input(2)};
    if (op.has_bias && has_input(import, 3)) inputs.push_back(import.input(3));
    const auto expand = [&](Expansion& e) {
      TensorId sum = e.append("add", {e.input(0), e.input(1)});
      if (has_input(import, of_sum)) sum = e.append("add", {sum, import.input(of_sum)});
      return normalized(op, e, sum);
    };
    SOAPSTONE_ASSIGN_OR_RETURN(const auto results,
                               read_expanded(import, expand, std::move(inputs),
                                             {{"epsilon", decimal_or(import, "epsilon", 1e-12)}}));
    return std::vector{results[0], TensorId::none(), TensorId::none(), results[1]};
  };
}

core::Status write_sum_norm(const SumNorm& op, OnnxExport& out) {
  Emitter emitter(out);
  const std::size_t rank = emitter.dims(0).size();
  if (rank != 2 && rank != 3) return cannot_write(out, "it has two or three dimensions there");
  if (emitter.data_type(0) == core::DataType::kFloat64)
    return cannot_write(out, "it has no kernel for f64");
  std::vector<std::string> inputs{emitter.input(0), emitter.input(1), emitter.input(2)};
  if (emitter.has_input(3)) inputs.push_back(emitter.input(3));
  const auto epsilon = static_cast<float>(emitter.attributes().get_real("epsilon"));
  emit_contrib(out, op.onnx, std::move(inputs),
               {out.name(out.node().outputs[0]), "", "", out.name(out.node().outputs[1])},
               {{"epsilon", epsilon}});
  return core::Done{};
}

OpDefinition define(const SumNorm& op) {
  return composite({
      .name = op.name,
      .equation = op.equation,
      .attributes =
          std::vector<core::AttributeSchema>{
              {"epsilon", core::AttributeRole::kPositiveReal, 1e-5, {1e-5}}},
      .inputs = Arity(3, op.has_bias ? 4 : 3),
      .op_class = OpClass::kNormalization,
      .check = [&op](InferContext& c) { check_sum_norm(op, c); },
      .expand = [&op](Expansion& e) { return expand_sum_norm(op, e); },
      .onnx = OnnxMapping{{contrib_reader(op.onnx, Elements::kFloating, read_skip_norm(op))},
                          [&op](OnnxExport& out) { return write_sum_norm(op, out); }},
  });
}

}  // namespace

OpDefinition sum_layer_norm_op() { return define(kSumNorms[0]); }
OpDefinition sum_rms_norm_op() { return define(kSumNorms[1]); }

}  // namespace soapstone::ops
