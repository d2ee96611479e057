#include "ops/composites/onnx_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::Dims;

constexpr std::size_t kMask = 3, kPastKeys = 4, kPastValues = 5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

core::Status refuse_other_forms(const OnnxImport& import) {
  if (has_input(import, kPastKeys) != has_input(import, kPastValues))
    return bad_node(import, "keys and values of before must both be there, or neither");
  if (import.output_count() > 3) return cannot_read(import, "products as a result");
  if (import.real_or("softcap", 0) < 0) return cannot_read(import, "a negative softcap");
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

/// Keys or values of before in front of those of now. Returns how many there were before.
core::Result<std::int64_t> prepend(const OnnxImport& import, Composer& compose, std::size_t k,
                                   TensorId& now) {
  if (!has_input(import, k)) return 0;
  const Dims before = input_dims(import, k), its = compose.dims(now);
  if (before.size() != 4 || before[0] != its[0] || before[1] != its[1] || before[3] != its[3])
    return bad_node(import, "keys or values of before do not fit those of now");
  if (compose.data_type(import.input(k)) != compose.data_type(now))
    return cannot_read(import, "keys or values of before that have another type");
  now = compose.append("concat", {import.input(k), now}, {{"axis", Polynomial(2)}});
  return before[2];
}

/// Which of the places that are attended to a mask or an order hides, as what is added to products.
struct Offset {
  TensorId tensor = TensorId::none();  ///< None: nothing is hidden.
  bool may_hide_all = false;           ///< From some place, as far as is known.
};

/// −∞ above the diagonal that begins behind the places of before, so that none sees what follows
/// it.
TensorId causal_offset(Composer& compose, core::DataType type, const Dims& products,
                       std::int64_t before) {
  const auto place = [&](std::int64_t axis) {
    return compose.append(
        "iota", {},
        {{"shape", to_sizes(Dims{products[2], products[3]})}, {"axis", Polynomial(axis)}});
  };
  TensorId own = place(0);
  if (before != 0)
    own = compose.append(
        "add", {own, compose.scalar(core::DataType::kInt64, static_cast<double>(before))});
  return compose.append("where", {compose.append("less", {own, place(1)}),
                                  compose.scalar(type, -kInfinity), compose.scalar(type, 0)});
}

/// Every row of a known mask shows its first place, which no order hides.
bool shows_first_places(const core::LiteralPtr& mask, bool is_boolean) {
  if (!mask || mask->dims().back() == 0) return false;
  const std::vector<double> values = mask->to_doubles();
  const auto row = static_cast<std::size_t>(mask->dims().back());
  for (std::size_t at = 0; at < values.size(); at += row)
    if (is_boolean ? values[at] == 0 : !(values[at] > -kInfinity)) return false;
  return true;
}

core::Result<Offset> read_offset(OnnxImport& import, Composer& compose, core::DataType type,
                                 const Dims& products, std::int64_t before) {
  Offset offset;
  if (import.int_or("is_causal", 0) != 0)
    offset.tensor = causal_offset(compose, type, products, before);
  if (!has_input(import, kMask)) return offset;
  TensorId mask = import.input(kMask);
  const Dims its = compose.dims(mask);
  const bool repeats = !its.empty() && its.size() <= products.size() &&
                       std::equal(its.rbegin(), its.rend(), products.rbegin(),
                                  [](std::int64_t a, std::int64_t b) { return a == b || a == 1; });
  if (!repeats) return cannot_read(import, "a mask of other dimensions");
  const bool is_boolean = compose.data_type(mask) == core::DataType::kBool;
  if (!is_boolean && compose.data_type(mask) != type)
    return cannot_read(import, "a mask of another type");
  offset.may_hide_all = !shows_first_places(import.constant_input(kMask), is_boolean);
  if (is_boolean)
    mask =
        compose.append("where", {mask, compose.scalar(type, 0), compose.scalar(type, -kInfinity)});
  offset.tensor = offset.tensor.valid() ? compose.append("add", {offset.tensor, mask}) : mask;
  return offset;
}

/// The softmax of what is not hidden. Where all is hidden, runtimes and torch give 0, and a softmax
/// gives no number.
TensorId weights_of(Composer& compose, TensorId products, const Offset& offset) {
  if (offset.tensor.valid()) products = compose.append("add", {products, offset.tensor});
  const TensorId weights = compose.append("softmax", {products}, {{"axis", Polynomial(3)}});
  if (!offset.may_hide_all) return weights;
  const core::DataType type = compose.data_type(weights);
  const std::int64_t last = std::ssize(compose.dims(offset.tensor)) - 1;
  const TensorId most =
      compose.append("reduce_max", {offset.tensor},
                     {{"axes", to_sizes(Dims{last})}, {"keep_dims", Polynomial(1)}});
  const TensorId sees = compose.append("less", {compose.scalar(type, -kInfinity), most});
  return compose.append("where", {sees, weights, compose.scalar(type, 0)});
}

/// Products of queries and keys, scaled and kept within the cap.
core::Result<TensorId> products_of(OnnxImport& import, Composer& compose, TensorId queries,
                                   TensorId keys) {
  const core::DataType type = compose.data_type(queries);
  const double given = import.real_or("scale", 0);
  if (std::abs(given) > 1)
    return cannot_read(import, "a scale above 1");  // on queries it overflows
  const double scale = given != 0 ? shortest_decimal(static_cast<float>(given))
                                  : 1 / std::sqrt(static_cast<double>(compose.dims(queries)[3]));
  const TensorId scaled = compose.append("mul", {queries, compose.scalar(type, scale)});
  const TensorId products =
      compose.append("matmul", {scaled, compose.transpose(keys, {0, 1, 3, 2})});
  const double cap = decimal_or(import, "softcap", 0);
  if (cap == 0) return products;
  const TensorId bound = compose.scalar(type, cap);
  return compose.append(
      "mul", {bound, compose.append("tanh", {compose.append("div", {products, bound})})});
}

ReadResult read_onnx_attention(OnnxImport& import) {
  SOAPSTONE_RETURN_IF_ERROR(refuse_other_forms(import));
  Composer compose(import);
  SOAPSTONE_ASSIGN_OR_RETURN(AttentionHeads heads, read_heads_of(import, compose));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t before,
                             prepend(import, compose, kPastKeys, heads.keys));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t before_values,
                             prepend(import, compose, kPastValues, heads.values));
  if (before != before_values)
    return bad_node(import, "there are more keys of before than values, or fewer");
  const Dims queries = compose.dims(heads.queries), keys = compose.dims(heads.keys);
  const std::int64_t times = heads.count / heads.shared;
  SOAPSTONE_ASSIGN_OR_RETURN(
      const TensorId products,
      products_of(import, compose, heads.queries, repeated(compose, heads.keys, times)));
  SOAPSTONE_ASSIGN_OR_RETURN(const Offset offset,
                             read_offset(import, compose, compose.data_type(heads.queries),
                                         {queries[0], queries[1], queries[2], keys[2]}, before));
  TensorId y = compose.append(
      "matmul", {weights_of(compose, products, offset), repeated(compose, heads.values, times)});
  if (heads.is_flat) {
    SOAPSTONE_RETURN_IF_ERROR(compose.finish({y}));
    const Dims dims = compose.dims(y);
    y = compose.reshape(compose.transpose(y, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
  }
  return compose.finish({y, heads.keys, heads.values});
}

}  // namespace

std::vector<OnnxReader> attention_readers() {
  return {reader("Attention", Elements::kFloating, read_onnx_attention, 23)};
}

}  // namespace soapstone::ops
