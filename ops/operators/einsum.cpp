// `einsum`: products of any number of tensors, summed over the labels that the result leaves out.
// Labels are single letters; a reader of models writes ellipses and implicit results out.
#include <algorithm>
#include <array>
#include <map>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"
#include "ops/parts/einsum_equation.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using LabelSizes = std::map<char, Polynomial>;

/// LabelSizes of all labels, or none after a failure.
std::optional<LabelSizes> require_sizes(InferContext& c, const EinsumEquation& equation) {
  LabelSizes sizes;
  for (std::size_t k = 0; k < equation.operands.size(); ++k) {
    const std::string& labels = equation.operands[k];
    if (!c.require_rank(k, labels.size(), "einsum.rank")) return std::nullopt;
    for (std::size_t d = 0; d < labels.size(); ++d) {
      const auto [known, is_new] = sizes.emplace(labels[d], c.shape(k)[d]);
      if (!is_new && !c.require_equal(known->second, c.shape(k)[d], "einsum.sizes"))
        return std::nullopt;
    }
  }
  return sizes;
}

std::vector<TensorType> infer_einsum(InferContext& c) {
  if (!require_one_type(c, "einsum", Elements::kArithmetic)) return {};
  const auto equation = EinsumEquation::parse(c.attributes().get_text("equation"));
  if (!c.require(equation.has_value(), "einsum.equation",
                 "equation must be like \"ab,bc->ac\": letters of each input, and of the result") ||
      !c.require(equation->operands.size() == c.input_count(), "einsum.inputs",
                 "equation must have as many operands as there are inputs"))
    return {};
  const auto sizes = require_sizes(c, *equation);
  if (!sizes) return {};
  Shape result;
  for (const char label : equation->result) result.push_back(sizes->at(label));
  return {{c.input(0).data_type, std::move(result)}};
}

Semantics einsum_semantics(const OpInstance& op) {
  const auto equation = *EinsumEquation::parse(op.attributes.get_text("equation"));
  SemanticsBuilder builder(static_cast<std::uint32_t>(op.inputs.size()));
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    LabelSizes at;
    for (std::size_t d = 0; d < i.size(); ++d) at.emplace(equation.result[d], i[d]);
    std::vector<Binder> summed;
    Expr product;
    for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
      Index index;
      for (std::size_t d = 0; d < equation.operands[k].size(); ++d) {
        const char label = equation.operands[k][d];
        if (!at.contains(label)) {
          summed.push_back({builder.fresh(), 0, op.inputs[k].shape[d]});
          at.emplace(label, summed.back().variable);
        }
        index.push_back(at.at(label));
      }
      Expr element = read(k, std::move(index));
      product = product ? std::move(product) * std::move(element) : std::move(element);
    }
    return summed.empty() ? product : sum(std::move(summed), std::move(product));
  });
  return std::move(builder).finish();
}

ReadResult read_einsum(OnnxImport& import) {
  std::vector<std::size_t> ranks;
  std::vector<TensorId> inputs;
  for (std::size_t k = 0; k < import.input_count(); ++k) {
    ranks.push_back(input_dims(import, k).size());
    inputs.push_back(import.input(k));
  }
  const auto equation = EinsumEquation::from_onnx(import.text_or("equation", ""), ranks);
  if (!equation) return cannot_read(import, "its equation");
  // A size of 1 under an ellipsis is broadcast, which letters cannot say.
  std::map<char, std::int64_t> sizes;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    for (std::size_t d = 0; d < ranks[k]; ++d) {
      const std::int64_t size = input_dims(import, k)[d];
      if (sizes.emplace(equation->operands[k][d], size).first->second != size)
        return cannot_read(import, "operands that are broadcast");
    }
  return import.append("einsum", std::move(inputs), {{"equation", equation->to_string()}});
}

core::Status write_einsum(OnnxExport& out) {
  out.emit_same("Einsum", {{"equation", out.node().attributes.get_text("equation")}});
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> einsum_ops() {
  return {OpDefinition({
      .name = "einsum",
      .equation = "x[labels]… → y[labels] = Σ over the labels that y has not of the product of the "
                  "inputs; equation names them: \"ab,bc->ac\"",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"equation", AttributeRole::kEquation, std::nullopt, {std::string("ab,bc->ac")}}},
      .inputs = Arity(1, core::OpSchema::kAnyNumber),
      .op_class = OpClass::kReduction,
      .infer = infer_einsum,
      .semantics = einsum_semantics,
      .onnx = OnnxMapping{{reader("Einsum", Elements::kArithmetic, read_einsum, 12)}, write_einsum},
  })};
}

}  // namespace soapstone::ops
