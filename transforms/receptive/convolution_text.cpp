#include "transforms/receptive/convolution_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/op_definition.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Dims;
using core::TensorId;
using Names = std::vector<std::string>;

std::string joined(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }
std::string joined(const Dims& dims) { return list(dims); }

/// How many channels there are: of one group any number, else those of the graph, since a number
/// that groups divide is no size that stands alone.
std::string channels_made_by(const Convolution& conv, const std::string& any) {
  return conv.group == 1 ? any : std::to_string(conv.results);
}
std::string operands_of(const Convolution& conv, const std::string& any) {
  return conv.group == 1 ? any : std::to_string(conv.operands);
}

/// The declaration of an image.
std::string image(const Convolution& conv, const std::string& name, const std::string& channels) {
  const std::string all = conv.group == 1 ? channels : std::to_string(conv.group * conv.operands);
  Names sizes{"n", all};
  for (std::size_t d = 0; d < conv.strides.size(); ++d) sizes.push_back(fmt::format("h{}", d));
  return fmt::format("  {}: [{}]\n", name, joined(sizes));
}

std::string kernel(const Convolution& conv, const std::string& name, const std::string& results,
                   const std::string& channels) {
  Names sizes{channels_made_by(conv, results), operands_of(conv, channels)};
  for (std::size_t d = 0; d < conv.strides.size(); ++d)
    sizes.push_back(std::to_string(conv.window.size(d)));
  return fmt::format("  {}: [{}]\n", name, joined(sizes));
}

std::string bias(const Convolution& conv, const std::string& name, const std::string& results) {
  return fmt::format("  {}: [{}]\n", name, channels_made_by(conv, results));
}

/// The rule about a sum of convolutions.
class SumText {
 public:
  explicit SumText(const Sum& sum) : sum_(sum), first_(sum.convolutions[0]) {}

  std::optional<std::string> text() {
    for (std::size_t k = 0; k < sum_.convolutions.size(); ++k) add_convolution(k);
    for (std::size_t k = 0; k < sum_.others.size(); ++k)
      if (!add_other(k)) return std::nullopt;
    source_ += additions(sum_, names_);
    return window_rule("sum", head_, source_, target());
  }

 private:
  void add_convolution(std::size_t k) {
    const Convolution& conv = sum_.convolutions[k];
    const auto [known, is_new] = images_.emplace(conv.image, images_.size());
    const std::string x = numbered("x", known->second), channels = numbered("c", known->second);
    if (is_new) {
      head_ += image(conv, x, channels);
      kernels_.emplace_back();
    }
    kernels_[known->second].push_back(numbered("w", k));
    head_ += kernel(conv, numbered("w", k), "o", channels);
    if (conv.has_bias) {
      head_ += bias(conv, numbered("b", k), "o");
      biases_.push_back(numbered("b", k));
    }
    names_[conv.result] = numbered("s", k);
    source_ += convolved(conv, numbered("s", k), x, numbered("w", k),
                         conv.has_bias ? numbered("b", k) : "");
  }

  /// False: its sizes are no polynomials.
  bool add_other(std::size_t k) {
    const TensorId id = sum_.others[k];
    if (!names_.emplace(id, numbered("u", k)).second) {
      others_.push_back(names_.at(id));
      return true;
    }
    Names sizes{"n", channels_made_by(first_, "o")};
    for (std::size_t d = 0; d < first_.strides.size(); ++d) {
      if (first_.strides[d] != 1) return false;
      const std::int64_t more = first_.end[d];
      sizes.push_back(more == 0
                          ? numbered("h", d)
                          : fmt::format("h{} {} {}", d, more < 0 ? '-' : '+', std::abs(more)));
    }
    head_ += fmt::format("  {}: [{}]\n", names_.at(id), joined(sizes));
    others_.push_back(names_.at(id));
    return true;
  }

  std::string target() const {
    std::string text;
    Names of_images, images;
    for (std::size_t j = 0; j < kernels_.size(); ++j) {
      images.push_back(numbered("x", j));
      const std::string whole = numbered("ws", j);
      text += summed(kernels_[j], whole, fmt::format("ws{}_", j).c_str());
      of_images.push_back(kernels_[j].size() == 1 ? kernels_[j][0] : whole);
    }
    std::string x = images[0], w = of_images[0], b = biases_.empty() ? "" : biases_[0];
    if (images.size() > 1) {
      text += concatenated("xs", images, 1) + concatenated("ws", of_images, 1);
      x = "xs";
      w = "ws";
    }
    if (biases_.size() > 1) {
      text += summed(biases_, "bs", "bs_");
      b = "bs";
    }
    Names terms{"r"};
    terms.insert(terms.end(), others_.begin(), others_.end());
    text += convolved(first_, others_.empty() ? "y" : "r", x, w, b);
    return text + summed(terms, "y", "r_");
  }

  const Sum& sum_;
  const Convolution& first_;
  std::string head_, source_;
  std::map<TensorId, std::size_t> images_;
  std::vector<Names> kernels_;  // by image
  Names biases_, others_;
  std::map<TensorId, std::string> names_;
};

}  // namespace

bool is_inner(const core::Graph& graph, TensorId id) {
  return graph.consumers(id).size() == 1 && !graph.is_output(id);
}

Dims dims_of(const core::Graph& graph, TensorId id) {
  return core::concrete(graph.tensor(id).type.shape).value_or(Dims{});
}

std::string list(const Dims& numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

std::string declared(const core::Graph& graph, const std::string& name, TensorId id) {
  return fmt::format("  {}: [{}]\n", name, list(dims_of(graph, id)));
}

std::string reshaped(const std::string& result, const std::string& x, const std::string& shape) {
  return fmt::format("    {} = reshape({}; shape=[{}])\n", result, x, shape);
}

std::string transposed(const std::string& result, const std::string& x, const Dims& order) {
  return fmt::format("    {} = transpose({}; perm=[{}])\n", result, x, list(order));
}

std::string cut_out(const std::string& result, const std::string& x, const CutTexts& cut) {
  return fmt::format("    {} = slice({}; axes=[{}], starts=[{}], sizes=[{}], steps=[{}])\n", result,
                     x, cut.axes, cut.starts, cut.sizes, cut.steps);
}

std::string padded(const std::string& result, const std::string& x, const Dims& around,
                   const Dims& between) {
  return fmt::format("    {} = pad({}; pads=[{}], interior=[{}])\n", result, x, list(around),
                     list(between));
}

std::string additions(const Sum& sum, std::map<TensorId, std::string>& names) {
  std::string lines;
  for (std::size_t k = 0; k < sum.additions.size(); ++k) {
    const auto& [a, b, result] = sum.additions[k];
    names[result] = k + 1 == sum.additions.size() ? "y" : numbered("t", k);
    lines += fmt::format("    {} = add({}, {})\n", names[result], names.at(a), names.at(b));
  }
  return lines;
}

std::string window_rule(const char* what, const std::string& head, const std::string& source,
                        const std::string& target) {
  return fmt::format("rule window_of_{}\n{}  placed\n  source\n{}  target\n{}", what, head, source,
                     target);
}

std::string summed(const Names& terms, const std::string& name, const char* part) {
  std::string text, sum = terms[0];
  for (std::size_t k = 1; k < terms.size(); ++k) {
    const std::string next = k + 1 == terms.size() ? name : numbered(part, k);
    text += fmt::format("    {} = add({}, {})\n", next, sum, terms[k]);
    sum = next;
  }
  return text;
}

std::string concatenated(const std::string& result, const Names& parts, int axis) {
  return fmt::format("    {} = concat({}; axis={})\n", result, joined(parts), axis);
}

std::string multiplied(const std::string& result, const std::string& a, const std::string& b) {
  return fmt::format("    {} = mul({}, {})\n", result, a, b);
}

std::string numbered(const char* name, std::size_t k) { return fmt::format("{}{}", name, k); }

std::string convolved(const Convolution& conv, const std::string& result, const std::string& x,
                      const std::string& w, const std::string& b) {
  Dims pads;
  for (const std::int64_t low : conv.window.low) pads.push_back(-low);
  for (std::size_t d = 0; d < conv.end.size(); ++d)
    pads.push_back(conv.end[d] + conv.window.high[d]);
  return fmt::format("    {} = conv({}, {}{}; strides=[{}], pads=[{}], dilations=[{}], group={})\n",
                     result, x, w, b.empty() ? "" : ", " + b, joined(conv.strides), joined(pads),
                     joined(conv.window.step), conv.group);
}

std::string call_around(const core::Graph& graph, const core::Node& node) {
  std::string attributes;
  for (const auto& [name, value] : node.attributes.values())
    attributes += fmt::format("{}{}={}", attributes.empty() ? "; " : ", ", name,
                              core::to_string(value, graph.symbols()));
  return fmt::format("{}({{}}{})", node.op->name, attributes);
}

std::optional<Convolution> convolution_at(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  const auto is_known = [&](TensorId tensor) {
    return !tensor.valid() || (graph.tensor(tensor).type.shape_known &&
                               core::concrete(graph.tensor(tensor).type.shape));
  };
  const bool is_known_convolution = ops::is_convolution(node) &&
                                    std::ranges::all_of(node.inputs, is_known) &&
                                    is_known(node.outputs[0]);
  if (!is_known_convolution || !graph.is_constant_expression(node.inputs[1])) return std::nullopt;
  Convolution conv{
      .image = node.inputs[0], .result = node.outputs[0], .window = {}, .strides = {}, .end = {}};
  conv.has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  conv.strides = ops::ints_by_role(node, AttributeRole::kStride);
  conv.group = node.attributes.get_int(node.op->find_role(AttributeRole::kGroup)->name);
  const Dims pads = ops::ints_by_role(node, AttributeRole::kPad);
  const Dims sizes = *core::concrete(graph.tensor(node.inputs[1]).type.shape);
  conv.results = sizes[0];
  conv.operands = sizes[1];
  conv.window.step = ops::ints_by_role(node, AttributeRole::kDilation);
  const std::size_t rank = conv.strides.size();
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d + 2] < 1) return std::nullopt;
    conv.window.low.push_back(-pads[d]);
    conv.window.high.push_back(-pads[d] + conv.window.step[d] * (sizes[d + 2] - 1));
    conv.end.push_back(pads[rank + d] - conv.window.high[d]);
  }
  return conv;
}

std::string with_window(const Convolution& conv, const Window& window) {
  const std::string b = conv.has_bias ? "b" : "";
  Dims before{0, 0}, behind{0, 0}, between{0, 0};
  for (std::size_t d = 0; d < conv.strides.size(); ++d) {
    before.push_back((conv.window.low[d] - window.low[d]) / window.step[d]);
    behind.push_back((window.high[d] - conv.window.high[d]) / window.step[d]);
    const bool is_one = conv.window.low[d] == conv.window.high[d];
    between.push_back(is_one ? 0 : conv.window.step[d] / window.step[d] - 1);
  }
  before.insert(before.end(), behind.begin(), behind.end());
  Convolution larger = conv;
  larger.window = window;
  return window_rule("conv",
                     image(conv, "x", "c") + kernel(conv, "w", "o", "c") +
                         (conv.has_bias ? bias(conv, b, "o") : ""),
                     convolved(conv, "y", "x", "w", b),
                     padded("v", "w", before, between) + convolved(larger, "y", "x", "v", b));
}

std::string in_groups(const Convolution& conv, std::int64_t group) {
  const std::string b = conv.has_bias ? "b" : "";
  const std::int64_t joint = conv.group / group;
  Convolution fewer = conv;
  fewer.group = group;
  fewer.operands *= joint;
  std::int64_t elements = conv.operands;
  Dims shape{conv.results, fewer.operands};
  for (std::size_t d = 0; d < conv.strides.size(); ++d) {
    shape.push_back(conv.window.size(d));
    elements *= shape.back();
  }
  std::string target = fmt::format("    one = eye(; shape=[{0}, {0}])\n", joint);
  target += reshaped("own", "one", list({1, joint, 1, joint, 1}));
  target += reshaped("ws", "w", list({group, joint, conv.results / conv.group, 1, elements}));
  target += multiplied("wo", "ws", "own") + reshaped("v", "wo", list(shape));
  return window_rule("groups",
                     image(conv, "x", "c") + kernel(conv, "w", "o", "c") +
                         (conv.has_bias ? bias(conv, b, "o") : ""),
                     convolved(conv, "y", "x", "w", b),
                     target + convolved(fewer, "y", "x", "v", b));
}

std::string joined_convolutions(const std::vector<Convolution>& all, const std::string& behind) {
  const bool has_bias = std::ranges::any_of(all, &Convolution::has_bias);
  std::string head = image(all[0], "x", "c"), source, target;
  Names kernels, biases, results, sizes;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string o = numbered("o", k), b = numbered("b", k);
    kernels.push_back(numbered("w", k));
    biases.push_back(b);
    results.push_back(numbered("y", k));
    sizes.push_back(o);
    head += kernel(all[k], kernels.back(), o, "c");
    if (all[k].has_bias)
      head += bias(all[k], b, o);
    else if (has_bias)
      target += fmt::format("    {} = full(; shape=[{}], value=0.0)\n", b, o);
    const std::string r = behind.empty() ? results.back() : numbered("r", k);
    source += convolved(all[k], r, "x", kernels.back(), all[k].has_bias ? b : "");
    if (!behind.empty())
      source += fmt::format("    {} = {}\n", results.back(), fmt::format(fmt::runtime(behind), r));
  }
  target += concatenated("ws", kernels, 0);
  if (has_bias) target += concatenated("bs", biases, 0);
  target += convolved(all[0], behind.empty() ? "ys" : "rs", "x", "ws", has_bias ? "bs" : "");
  if (!behind.empty())
    target += fmt::format("    ys = {}\n", fmt::format(fmt::runtime(behind), "rs"));
  target += fmt::format("    {} = split(ys; axis=1, sizes=[{}])\n", joined(results), joined(sizes));
  return window_rule("convs", head, source, target);
}

std::optional<std::string> summed_convolutions(const Sum& sum) { return SumText(sum).text(); }

}  // namespace soapstone::transforms
