#include "ops/composites/onnx_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::Dims;

constexpr std::size_t kMask = 3;

/// Inputs, outputs and attributes that make something else of it.
core::Status refuse_other_forms(const OnnxImport& import) {
  for (const std::size_t k : {4, 5})
    if (has_input(import, k)) return cannot_read(import, "keys and values of before");
  if (import.output_count() > 1) return cannot_read(import, "more than one output");
  if (import.real_or("softcap", 0) != 0) return cannot_read(import, "softcap");
  return core::Done{};
}

/// Queries, keys and values of shape [b, heads, s, size].
struct AttentionHeads {
  TensorId queries, keys, values;
  std::int64_t count = 0, shared = 0;  ///< Of queries, and of keys and values.
  bool is_flat = false;                ///< They were [b, s, heads·size], and so is the result.
};

/// [b, s, heads·size] as [b, heads, s, size].
TensorId apart(Composer& compose, TensorId x, std::int64_t heads) {
  const Dims dims = compose.dims(x);
  return compose.transpose(compose.reshape(x, {dims[0], dims[1], heads, dims[2] / heads}),
                           {0, 2, 1, 3});
}

/// Heads of keys or values, each as often as queries share it.
TensorId repeated(Composer& compose, TensorId x, std::int64_t times) {
  if (times == 1) return x;
  const Dims dims = compose.dims(x);
  const TensorId one = compose.reshape(x, {dims[0], dims[1], 1, dims[2], dims[3]});
  const TensorId many = compose.append(
      "expand", {one}, {{"shape", to_sizes(Dims{dims[0], dims[1], times, dims[2], dims[3]})}});
  return compose.reshape(many, {dims[0], dims[1] * times, dims[2], dims[3]});
}

core::Result<AttentionHeads> read_heads_of(OnnxImport& import, Composer& compose) {
  const Dims q = input_dims(import, 0), k = input_dims(import, 1), v = input_dims(import, 2);
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4))
    return bad_node(import, "its operands have 3 or 4 dimensions each");
  AttentionHeads heads{import.input(0), import.input(1), import.input(2), q[1], k[1],
                       q.size() == 3};
  if (heads.is_flat) {
    heads.count = import.int_or("q_num_heads", 0);
    heads.shared = import.int_or("kv_num_heads", 0);
    if (heads.count < 1 || heads.shared < 1 || q[2] % heads.count != 0 ||
        k[2] % heads.shared != 0 || v[2] % heads.shared != 0)
      return bad_node(import, "the numbers of heads do not divide its operands");
    heads.queries = apart(compose, heads.queries, heads.count);
    heads.keys = apart(compose, heads.keys, heads.shared);
    heads.values = apart(compose, heads.values, heads.shared);
    SOAPSTONE_RETURN_IF_ERROR(compose.finish({heads.queries, heads.keys, heads.values}));
  }
  const Dims queries = compose.dims(heads.queries), keys = compose.dims(heads.keys),
             values = compose.dims(heads.values);
  if (keys[0] != queries[0] || values[0] != queries[0] || keys[3] != queries[3] ||
      keys[1] != values[1] || keys[2] != values[2] || keys[1] < 1 || queries[1] % keys[1] != 0 ||
      queries[3] < 1)
    return bad_node(import, "its operands do not fit");
  return heads;
}

/// What is added to the products of these dimensions, above the diagonal, so that each place sees
/// none behind it.
TensorId causal_offset(Composer& compose, core::DataType type, std::int64_t rows,
                       std::int64_t columns) {
  const auto place = [&](std::int64_t axis) {
    return compose.append("iota", {},
                          {{"shape", to_sizes(Dims{rows, columns})}, {"axis", Polynomial(axis)}});
  };
  const TensorId is_behind = compose.append("less", {place(0), place(1)});
  const double infinity = std::numeric_limits<double>::infinity();
  return compose.append("where",
                        {is_behind, compose.scalar(type, -infinity), compose.scalar(type, 0)});
}

ReadResult read_onnx_attention(OnnxImport& import) {
  SOAPSTONE_RETURN_IF_ERROR(refuse_other_forms(import));
  Composer compose(import);
  SOAPSTONE_ASSIGN_OR_RETURN(const AttentionHeads heads, read_heads_of(import, compose));
  const core::DataType type = compose.data_type(heads.queries);
  const Dims queries = compose.dims(heads.queries), keys = compose.dims(heads.keys);
  const double given = import.real_or("scale", 0);
  if (std::abs(given) > 1)
    return cannot_read(import, "a scale above 1");  // on queries it overflows
  const double scale = given != 0 ? shortest_decimal(static_cast<float>(given))
                                  : 1 / std::sqrt(static_cast<double>(queries[3]));
  const std::int64_t times = heads.count / heads.shared;
  const TensorId scaled = compose.append("mul", {heads.queries, compose.scalar(type, scale)});
  TensorId products = compose.append(
      "matmul", {scaled, compose.transpose(repeated(compose, heads.keys, times), {0, 1, 3, 2})});
  if (import.int_or("is_causal", 0) != 0)
    products = compose.append("add", {products, causal_offset(compose, type, queries[2], keys[2])});
  if (has_input(import, kMask)) {
    const TensorId mask = import.input(kMask);
    if (compose.data_type(mask) != type) return cannot_read(import, "a mask of another type");
    const Dims wanted{queries[0], queries[1], queries[2], keys[2]}, its = compose.dims(mask);
    const bool repeats = its.size() <= 4 && std::equal(its.rbegin(), its.rend(), wanted.rbegin(),
                                                       [](std::int64_t a, std::int64_t b) {
                                                         return a == b || a == 1;
                                                       });
    if (!repeats) return cannot_read(import, "a mask of other dimensions");
    products = compose.append("add", {products, mask});
  }
  const TensorId weights = compose.append("softmax", {products}, {{"axis", Polynomial(3)}});
  TensorId y = compose.append("matmul", {weights, repeated(compose, heads.values, times)});
  if (heads.is_flat) {
    SOAPSTONE_RETURN_IF_ERROR(compose.finish({y}));
    const Dims dims = compose.dims(y);
    y = compose.reshape(compose.transpose(y, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
  }
  return compose.finish(y);
}

}  // namespace

std::vector<OnnxReader> attention_readers() {
  return {reader("Attention", Elements::kFloating, read_onnx_attention, 23)};
}

}  // namespace soapstone::ops
