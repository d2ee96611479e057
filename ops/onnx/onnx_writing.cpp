// The tools of the ONNX writers of all families. Names of new tensors come from the exporter. If an
// opset lacks an operator or a form of it, others are composed that give the same elements.
#include "ops/onnx/onnx_writing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {

using core::Dims;
using Numbers = std::vector<std::int64_t>;

WriteFunction write_same(std::string op_type) {
  return [op_type = std::move(op_type)](OnnxExport& out) -> core::Status {
    out.emit_same(op_type);
    return core::Done{};
  };
}

int first_opset(std::string_view op) {
  static constexpr std::pair<std::string_view, int> kSince[] = {
      {"cumsum", 11}, {"einsum", 12}, {"erf", 9},    {"gather_elements", 11},
      {"gelu", 9},    {"is_inf", 10}, {"is_nan", 9}, {"resize", 11},
      {"round", 11},  {"top_k", 11},  {"where", 9}};
  for (const auto& [name, since] : kSince)
    if (name == op) return since;
  return 1;
}

core::Error cannot_write(const OnnxExport& out, std::string_view why) {
  return core::unsupported(
      fmt::format("{} cannot be written for opset {}: {}", out.node().op->name, out.opset(), why),
      "convert the model to a newer opset first");
}

std::string Emitter::emit(std::string op_type, std::vector<std::string> inputs,
                          OnnxAttributes attributes) {
  std::string result = out_.fresh_name(op_type);
  out_.emit({std::move(op_type), {}, std::move(inputs), {result}, std::move(attributes)});
  return result;
}

core::Status Emitter::finish(std::string op_type, std::vector<std::string> inputs,
                             OnnxAttributes attributes) {
  std::string result = out_.name(out_.node().outputs[0]);
  out_.emit({std::move(op_type), {}, std::move(inputs), {result}, std::move(attributes)});
  return core::Done{};
}

bool Emitter::has_input(std::size_t k) const {
  return k < out_.node().inputs.size() && out_.node().inputs[k].valid();
}

core::DataType Emitter::data_type(std::size_t k) const {
  return out_.graph().tensor(out_.node().inputs[k]).type.data_type;
}

Dims Emitter::dims(std::size_t k) const {
  return core::concrete(out_.graph().tensor(out_.node().inputs[k]).type.shape).value_or(Dims{});
}

std::string Emitter::scalar(double value) {
  return out_.constant(filled_literal(data_type(0), {}, value));
}

std::string Emitter::integer(std::int64_t value) {
  return out_.constant(core::Literal::ints({}, std::span(&value, 1)));
}

std::string Emitter::ints(const std::vector<std::int64_t>& values) {
  return out_.constant(core::Literal::ints({static_cast<std::int64_t>(values.size())}, values));
}

std::string Emitter::put(bool last, std::string op_type, std::vector<std::string> inputs,
                         OnnxAttributes attributes) {
  if (!last) return emit(std::move(op_type), std::move(inputs), std::move(attributes));
  std::string result = out_.name(out_.node().outputs[0]);
  out_.emit({std::move(op_type), {}, std::move(inputs), {result}, std::move(attributes)});
  return result;
}

/// Before opset 14 no size could be 0, but of a tensor without elements all is known.
std::string Emitter::reshape(std::string x, const core::Dims& shape, bool last) {
  if (std::ranges::find(shape, 0) == shape.end())
    return put(last, "Reshape", {std::move(x), ints(shape)});
  if (opset() >= 14)
    return put(last, "Reshape", {std::move(x), ints(shape)}, {{"allowzero", std::int64_t{1}}});
  auto nothing = std::make_shared<const core::Literal>(filled_literal(data_type(0), shape, 0));
  return put(last, "Constant", {}, {{"value", core::LiteralPtr(std::move(nothing))}});
}

std::string Emitter::reduce_mean(std::string x, const Numbers& axes) {
  if (opset() < 18)
    return emit("ReduceMean", {std::move(x)}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
  return emit("ReduceMean", {std::move(x), ints(axes)}, {{"keepdims", std::int64_t{1}}});
}

/// Expand came with opset 8; Tile repeats every dimension.
std::string Emitter::expand(const Emitted& x, const Dims& to, bool last) {
  if (opset() >= 8) return put(last, "Expand", {x.name, ints(to)});
  Dims from = x.dims;
  from.insert(from.begin(), to.size() - from.size(), 1);
  Numbers repeats;
  for (std::size_t d = 0; d < to.size(); ++d) repeats.push_back(from[d] == 1 ? to[d] : 1);
  const std::string same_rank = from == x.dims ? x.name : reshape(x.name, from);
  return put(last, "Tile", {same_rank, ints(repeats)});
}

/// Pads were an attribute before opset 11, when only reals could be padded.
std::string Emitter::pad(const Emitted& x, const Numbers& pads, double value, bool last) {
  const core::DataType type = data_type(0);
  const bool is_real = core::is_floating(type) && type != core::DataType::kBFloat16;
  const bool is_plain = type != core::DataType::kBool && type != core::DataType::kBFloat16;
  if (opset() >= (is_plain ? 11 : 13)) return put(last, "Pad", {x.name, ints(pads), scalar(value)});
  const auto real = static_cast<float>(value);
  if (opset() < 11 && is_real && (type != core::DataType::kFloat64 || real == value))
    return put(last, "Pad", {x.name}, {{"pads", pads}, {"value", real}});
  return pad_by_concat(x, pads, value, last);
}

std::string Emitter::pad_by_concat(Emitted x, const Numbers& pads, double value, bool last) {
  const std::size_t rank = x.dims.size();
  std::vector<std::size_t> grown;
  SliceRanges kept;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t begin = pads[d], end = pads[rank + d];
    if (begin > 0 || end > 0) grown.push_back(d);
    const std::int64_t start = std::max<std::int64_t>(-begin, 0);
    const std::int64_t size = x.dims[d] - start - std::max<std::int64_t>(-end, 0);
    if (size == x.dims[d]) continue;
    kept.axes.push_back(static_cast<std::int64_t>(d));
    kept.starts.push_back(start);
    kept.sizes.push_back(size);
    kept.steps.push_back(1);
    x.dims[d] = size;
  }
  if (!kept.axes.empty()) {
    Emitted whole = x;
    for (std::size_t k = 0; k < kept.axes.size(); ++k) {
      const auto d = static_cast<std::size_t>(kept.axes[k]);
      whole.dims[d] = dims(0)[d];
    }
    x.name = slice(whole, kept, last && grown.empty());
  }
  for (const std::size_t d : grown) {
    std::vector<std::string> parts;
    const auto add = [&](std::int64_t size) {
      if (size <= 0) return;
      Dims filling = x.dims;
      filling[d] = size;
      parts.push_back(out_.constant(filled_literal(data_type(0), filling, value)));
    };
    add(pads[d]);
    parts.push_back(x.name);
    add(pads[rank + d]);
    x.dims[d] += std::max<std::int64_t>(pads[d], 0) + std::max<std::int64_t>(pads[rank + d], 0);
    x.name =
        put(last && d == grown.back(), "Concat", parts, {{"axis", static_cast<std::int64_t>(d)}});
  }
  return x.name;
}

/// Before opset 10 ranges are attributes and have no steps: elements are chosen one by one.
std::string Emitter::slice(const Emitted& x, const SliceRanges& ranges, bool last) {
  SliceRanges plain;
  Numbers ends;
  std::vector<std::size_t> spaced;
  for (std::size_t k = 0; k < ranges.axes.size(); ++k) {
    const std::int64_t whole = x.dims[static_cast<std::size_t>(ranges.axes[k])];
    const std::int64_t size = ranges.sizes[k], step = size <= 1 ? 1 : ranges.steps[k];
    if (opset() < 10 && step != 1) {
      spaced.push_back(k);
      continue;
    }
    const std::int64_t start = size == 0 ? 0 : ranges.starts[k];
    const std::int64_t end = size == 0 ? 0 : start + (size - 1) * step + (step > 0 ? 1 : -1);
    plain.axes.push_back(ranges.axes[k]);
    plain.starts.push_back(start);
    plain.steps.push_back(step);
    // −1 would mean the last element; one before the first is written as far below it.
    ends.push_back(end >= 0 ? end : -whole - 1);
  }
  std::string y = x.name;
  if (opset() >= 10)
    return put(last, "Slice",
               {y, ints(plain.starts), ints(ends), ints(plain.axes), ints(plain.steps)});
  if (!plain.axes.empty() || spaced.empty())
    y = put(last && spaced.empty(), "Slice", {y},
            {{"axes", plain.axes}, {"starts", plain.starts}, {"ends", ends}});
  for (const std::size_t k : spaced) {
    Numbers indices;
    for (std::int64_t i = 0; i < ranges.sizes[k]; ++i)
      indices.push_back(ranges.starts[k] + i * ranges.steps[k]);
    y = put(last && k == spaced.back(), "Gather", {y, ints(indices)}, {{"axis", ranges.axes[k]}});
  }
  return y;
}

/// Before opset 8 both have one shape. Before opset 12 they are reals.
std::string Emitter::extremum(const std::string& op_type, const Emitted& a, const Emitted& b,
                              bool last) {
  if (opset() < 12 && opset() >= 9 && !core::is_floating(data_type(0))) {
    const bool least = op_type == "Min";
    const std::string less = emit("Less", {a.name, b.name});
    return put(last, "Where", {less, least ? a.name : b.name, least ? b.name : a.name});
  }
  std::string x = a.name, y = b.name;
  if (opset() < 8) {
    Dims result(std::max(a.dims.size(), b.dims.size()), 1);
    for (const Dims* dims : {&a.dims, &b.dims})
      for (std::size_t d = 0; d < dims->size(); ++d) {
        std::int64_t& size = result[result.size() - dims->size() + d];
        if ((*dims)[d] != 1) size = (*dims)[d];
      }
    if (a.dims != result) x = expand(a, result);
    if (b.dims != result) y = expand(b, result);
  }
  return put(last, op_type, {x, y});
}

}  // namespace soapstone::ops
