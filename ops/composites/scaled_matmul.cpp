// `scaled_matmul`: a matrix product with a factor and with operands whose matrices may be
// transposed, which a runtime multiplies as they lie.
#include <algorithm>
#include <numeric>

#include "ops/composites/composite_operators.h"
#include "ops/definition/indexing.h"

namespace soapstone::ops {
namespace {

using Permutation = std::vector<std::int64_t>;

/// x with its dimensions in another order; x itself if that is the same.
TensorId permuted(Expansion& e, TensorId x, const Permutation& perm) {
  if (std::ranges::is_sorted(perm)) return x;
  return e.append("transpose", {x}, {{"perm", to_sizes(perm)}});
}

/// ONNX Runtime's order of an operand: with `batch` its first dimension is that of rows (or, with
/// `exchange`, too, that of columns), and its last but one belongs to the batch.
Permutation order_of(std::size_t rank, bool exchange, bool batch) {
  Permutation perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (exchange) std::swap(perm[rank - 2], perm[rank - 1]);
  return perm;
}

std::vector<TensorId> expand_scaled_matmul(Expansion& e) {
  const auto operand = [&](std::size_t k, const char* exchange) {
    const std::size_t rank = e.type(e.input(k)).shape.size();
    return permuted(e, e.input(k), order_of(rank, e.attributes().get_int(exchange) != 0, false));
  };
  const TensorId a = operand(0, "transpose_a"), b = operand(1, "transpose_b");
  return {scaled(e, e.append("matmul", {a, b}), e.attributes().get_real("alpha"))};
}

void check_scaled_matmul(InferContext& c) {
  if (!require_one_type(c, "scaled_matmul", Elements::kFloating) ||
      !require_representable(c, "scaled_matmul", "alpha"))
    return;
  for (const char* flag : {"transpose_a", "transpose_b"})
    if (!require_int(c, "scaled_matmul", flag)) return;
  c.require(c.rank(0) >= 2 && c.rank(1) >= 2, "scaled_matmul.rank",
            "both operands must have two dimensions or more");
}

ReadResult read_fused_matmul(OnnxImport& import) {
  if (input_dims(import, 0).size() < 2 || input_dims(import, 1).size() < 2)
    return cannot_read(import, "an operand is a vector");
  for (std::size_t k = 0; k < 2; ++k)
    if (import.int_or(k == 0 ? "transBatchA" : "transBatchB", 0) != 0 &&
        input_dims(import, k).size() < 3)
      return cannot_read(import, "a matrix has no batch to exchange");
  const double alpha = decimal_or(import, "alpha", 1);
  if (!is_representable(alpha)) return cannot_read(import, "alpha is out of range");
  const auto expand = [&](Expansion& e) {
    const auto operand = [&](std::size_t k, const char* exchange, const char* batch) {
      const std::size_t rank = input_dims(import, k).size();
      return permuted(
          e, e.input(k),
          order_of(rank, import.int_or(exchange, 0) != 0, import.int_or(batch, 0) != 0));
    };
    const TensorId a = operand(0, "transA", "transBatchA"), b = operand(1, "transB", "transBatchB");
    return std::vector{scaled(e, e.append("matmul", {a, b}), alpha)};
  };
  return read_expanded(import, expand, {import.input(0), import.input(1)});
}

core::Status write_scaled_matmul(OnnxExport& out) {
  Emitter emitter(out);
  const Attributes& attributes = emitter.attributes();
  return write_contrib(out, "FusedMatMul", {emitter.input(0), emitter.input(1)},
                       {{"alpha", static_cast<float>(attributes.get_real("alpha"))},
                        {"transA", attributes.get_int("transpose_a")},
                        {"transB", attributes.get_int("transpose_b")}});
}

core::AttributeSchema flag(const char* name) {
  return {name, core::AttributeRole::kFlag, Polynomial(0), {Polynomial(0), Polynomial(1)}};
}

}  // namespace

OpDefinition scaled_matmul_op() {
  return composite({
      .name = "scaled_matmul",
      .equation = "a[…,m,k] b[…,k,n] → alpha·a·b; with transpose_a and transpose_b a[…,k,m] and "
                  "b[…,n,k]",
      .attributes =
          std::vector<core::AttributeSchema>{{"alpha", core::AttributeRole::kReal, 1.0, {0.125}},
                                             flag("transpose_a"),
                                             flag("transpose_b")},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kContraction,
      .check = check_scaled_matmul,
      .expand = expand_scaled_matmul,
      .onnx = OnnxMapping{{contrib_reader("FusedMatMul", Elements::kFloating, read_fused_matmul)},
                          write_scaled_matmul},
  });
}

}  // namespace soapstone::ops
