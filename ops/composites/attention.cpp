// `attention`: every query reads the values of all keys, by softmax of its products with them, for
// each head by itself. ONNX Runtime's kernel goes through keys in blocks and never stores the
// products of all.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/composites/composite_operators.h"
#include "ops/definition/indexing.h"

namespace soapstone::ops {
namespace {

using core::Dims;

std::vector<TensorId> expand_attention(Expansion& e) {
  const auto moved = [&](TensorId x, const std::vector<std::int64_t>& perm) {
    return e.append("transpose", {x}, {{"perm", to_sizes(perm)}});
  };
  const TensorId queries = moved(e.input(0), {0, 2, 1, 3});
  const TensorId keys = moved(e.input(1), {0, 2, 3, 1});
  const TensorId values = moved(e.input(2), {0, 2, 1, 3});
  TensorId products = e.append("matmul", {queries, keys});
  if (e.has_input(3)) products = e.append("add", {products, e.input(3)});
  const TensorId weights = e.append("softmax", {products}, {{"axis", Polynomial(3)}});
  return {moved(e.append("matmul", {weights, values}), {0, 2, 1, 3})};
}

void check_attention(InferContext& c) {
  if (!require_one_type(c, "attention", Elements::kFloating)) return;
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (c.has_input(k) && !c.require_rank(k, 4, "attention.rank")) return;
  const Shape &q = c.shape(0), &key = c.shape(1), &value = c.shape(2);
  c.require_equal(key[0], q[0], "attention.batch") &&
      c.require_equal(value[0], q[0], "attention.batch") &&
      c.require_equal(key[2], q[2], "attention.heads") &&
      c.require_equal(value[2], q[2], "attention.heads");
  if (!c.failed() && c.has_input(3))
    require_broadcasts_to(c, "attention", "offset", c.shape(3), {q[0], q[2], q[1], key[1]});
}

// --- Reading ------------------------------------------------------------------------------------

/// [b, s, heads·d] as [b, s, heads, d].
TensorId with_heads(Composer& compose, TensorId x, std::int64_t heads) {
  Dims dims = compose.dims(x);
  if (dims.size() != 3) return x;
  dims.push_back(dims[2] / heads);
  dims[2] = heads;
  return compose.reshape(x, dims);
}

/// The part of a vector that is added to the last dimension of x.
TensorId with_bias(Composer& compose, TensorId x, TensorId bias, std::int64_t begin) {
  if (!bias.valid()) return x;
  const std::int64_t size = compose.dims(x)[2];
  return compose.append("add", {x, compose.slice(bias, 0, begin, size)});
}

/// Queries, keys and values of shape [b, s, heads·size], and what is added to the products.
struct Operands {
  std::array<TensorId, 3> tensors;
  std::array<std::int64_t, 3> sizes;
  TensorId offset;
};

ReadResult read_heads(OnnxImport& import, const Operands& operands, std::int64_t heads) {
  Composer compose(import);
  const auto& [tensors, sizes, offset] = operands;
  const double given = import.real_or("scale", 0);
  const std::int64_t head_size = sizes[0] / heads;
  if (std::abs(given) > 1)
    return cannot_read(import, "a scale above 1");  // on queries it overflows
  const double scale = given != 0 ? shortest_decimal(static_cast<float>(given))
                                  : 1 / std::sqrt(static_cast<double>(head_size));
  const TensorId factor = compose.scalar(compose.data_type(tensors[0]), scale);
  std::vector<TensorId> inputs{
      with_heads(compose, scale == 1 ? tensors[0] : compose.append("mul", {tensors[0], factor}),
                 heads),
      with_heads(compose, tensors[1], heads), with_heads(compose, tensors[2], heads)};
  if (offset.valid()) inputs.push_back(offset);
  SOAPSTONE_RETURN_IF_ERROR(compose.finish(inputs));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto results,
                             read_expanded(import, expand_attention, std::move(inputs)));
  Dims dims = compose.dims(tensors[0]);
  dims[2] = sizes[2];
  return compose.finish(compose.reshape(results[0], dims));
}

/// Inputs and attributes of which ONNX Runtime's kernels make something that is not said here.
core::Status refuse_states(const OnnxImport& import, std::initializer_list<std::size_t> states) {
  for (const std::size_t k : states)
    if (has_input(import, k)) return cannot_read(import, "a mask of keys or a state of before");
  if (import.output_count() > 1) return cannot_read(import, "its state as an output");
  for (const char* flag : {"unidirectional", "do_rotary", "past_present_share_buffer"})
    if (import.int_or(flag, 0) != 0) return cannot_read(import, flag);
  return core::Done{};
}

core::Status check_sizes(const OnnxImport& import, const Operands& operands, std::int64_t heads) {
  const auto& [tensors, sizes, offset] = operands;
  if (heads < 1) return bad_node(import, "num_heads must be positive");
  for (const std::int64_t size : sizes)
    if (size < 1 || size % heads != 0) return bad_node(import, "heads do not divide a size");
  if (sizes[0] != sizes[1]) return bad_node(import, "queries and keys differ in size");
  return core::Done{};
}

/// What is added to the products [b, h, s, t] is repeated over batches and heads alone.
core::Status check_offset(const OnnxImport& import, const Dims& products) {
  constexpr std::size_t kOffset = 5;
  if (!has_input(import, kOffset)) return core::Done{};
  Dims wanted = products;
  const Dims given = input_dims(import, kOffset);
  for (std::size_t d = 0; d < 2 && given.size() == 4; ++d)
    if (given[d] == 1) wanted[d] = 1;
  return require_dims(import, kOffset, wanted);
}

/// Operands apart: queries [b, s, n], keys [b, t, n], values [b, t, m], and one bias for all.
ReadResult read_multi_head_attention(OnnxImport& import) {
  SOAPSTONE_RETURN_IF_ERROR(refuse_states(import, {4, 6, 7, 8, 9}));
  Operands operands{{import.input(0)}, {}, has_input(import, 5) ? import.input(5) : TensorId()};
  if (!has_input(import, 1) || !has_input(import, 2))
    return cannot_read(import, "queries, keys and values in one tensor");
  Composer compose(import);
  const TensorId bias = has_input(import, 3) ? import.input(3) : TensorId::none();
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const Dims dims = input_dims(import, k);
    if (dims.size() != 3) return cannot_read(import, "heads are a dimension of their own");
    operands.sizes[k] = dims[2];
    begin += dims[2];
  }
  if (bias.valid() && compose.dims(bias) != Dims{begin})
    return bad_node(import, "the bias has another size");
  const std::int64_t heads = import.int_or("num_heads", 0);
  SOAPSTONE_RETURN_IF_ERROR(check_sizes(import, operands, heads));
  const Dims queries = input_dims(import, 0), keys = input_dims(import, 1);
  const Dims values = input_dims(import, 2);
  if (queries[0] != keys[0] || queries[0] != values[0] || keys[1] != values[1])
    return cannot_read(import, "operands of different batches or lengths");
  SOAPSTONE_RETURN_IF_ERROR(check_offset(import, {queries[0], heads, queries[1], keys[1]}));
  begin = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    operands.tensors[k] = with_bias(compose, import.input(k), bias, begin);
    begin += operands.sizes[k];
  }
  SOAPSTONE_RETURN_IF_ERROR(compose.finish({operands.tensors.begin(), operands.tensors.end()}));
  return read_heads(import, operands, heads);
}

/// One linear layer makes queries, keys and values: x[b, s, i] w[i, n + n + m] bias[n + n + m].
ReadResult read_attention(OnnxImport& import) {
  SOAPSTONE_RETURN_IF_ERROR(refuse_states(import, {3, 4, 6}));
  if (!has_input(import, 1)) return bad_node(import, "its weights are missing");
  const Dims x = input_dims(import, 0), w = input_dims(import, 1);
  if (x.size() != 3 || w.size() != 2) return bad_node(import, "it has other dimensions");
  const auto given = import.ints("qkv_hidden_sizes");
  Operands operands{{}, {}, has_input(import, 5) ? import.input(5) : TensorId()};
  for (std::size_t k = 0; k < 3; ++k)
    operands.sizes[k] = given && given->size() == 3 ? (*given)[k] : w[1] / 3;
  const auto& sizes = operands.sizes;
  const std::int64_t heads = import.int_or("num_heads", 0);
  SOAPSTONE_RETURN_IF_ERROR(check_sizes(import, operands, heads));
  if (sizes[0] + sizes[1] + sizes[2] != w[1] || (given && given->size() != 3))
    return bad_node(import, "the weights do not fit");
  if (has_input(import, 2)) SOAPSTONE_RETURN_IF_ERROR(require_dims(import, 2, {w[1]}));
  SOAPSTONE_RETURN_IF_ERROR(check_offset(import, {x[0], heads, x[1], x[1]}));
  Composer compose(import);
  TensorId y = compose.append("matmul", {import.input(0), import.input(1)});
  if (has_input(import, 2)) y = compose.append("add", {y, import.input(2)});
  SOAPSTONE_RETURN_IF_ERROR(compose.finish(y));
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto parts,
      import.append("split", {y}, {{"axis", Polynomial(2)}, {"sizes", to_sizes(sizes)}}));
  std::ranges::copy(parts, operands.tensors.begin());
  return read_heads(import, operands, heads);
}

// --- Writing ------------------------------------------------------------------------------------

/// ONNX Runtime repeats what is added over batches and heads, but over nothing else.
std::string written_offset(Emitter& emitter) {
  const Dims given = emitter.dims(3);
  const Dims wanted{given[0], given[1], emitter.dims(0)[1], emitter.dims(1)[1]};
  return given == wanted ? emitter.input(3) : emitter.expand(emitter.operand(3), wanted);
}

core::Status write_attention(OnnxExport& out) {
  Emitter emitter(out);
  if (emitter.data_type(0) == core::DataType::kFloat64)
    return cannot_write(out, "it has no kernel for f64");
  std::vector<std::string> inputs;
  for (std::size_t k = 0; k < 3; ++k) {
    const Dims dims = emitter.dims(k);
    inputs.push_back(emitter.reshape(emitter.input(k), {dims[0], dims[1], dims[2] * dims[3]}));
  }
  if (emitter.has_input(3)) {
    inputs.insert(inputs.end(), {"", ""});
    inputs.push_back(written_offset(emitter));
  }
  const Dims queries = emitter.dims(0), values = emitter.dims(2);
  const std::string y = out.fresh_name("MultiHeadAttention");
  emit_contrib(out, "MultiHeadAttention", std::move(inputs), {y},
               {{"num_heads", queries[2]}, {"scale", 1.0f}});
  emitter.reshape(y, {queries[0], queries[1], queries[2], values[3]}, true);
  return core::Done{};
}

}  // namespace

OpDefinition attention_op() {
  return composite({
      .name = "attention",
      .equation = "q[b,s,h,d] k[b,t,h,d] v[b,t,h,e] offset? → y[b,s,h,e] = Σ over t of "
                  "softmax over t of (Σ over d of q·k + offset)·v, offset[b,h,s,t] by broadcasting",
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(3, 4),
      .op_class = OpClass::kNormalization,
      .check = check_attention,
      .expand = expand_attention,
      .onnx = OnnxMapping{{contrib_reader("MultiHeadAttention", Elements::kFloating,
                                          read_multi_head_attention),
                           contrib_reader("Attention", Elements::kFloating, read_attention)},
                          write_attention},
  });
}

}  // namespace soapstone::ops
