// The gradient by the image is a transpose, which spreads what a convolution gathers. The one by
// the kernel is a convolution of
// image and cotangent in which samples take the place of channels, and stride and dilation that of
// each other. Each group is one of that convolution, too.
#include "ops/lowering/convolution_gradients.h"

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/gradients/gradient_attributes.h"
#include "ops/gradients/gradient_operator.h"

namespace soapstone::ops {
namespace {

using core::Attributes;
using core::Dims;
using core::TensorId;
using Sizes = std::vector<Polynomial>;

class ConvolutionGradient {
 public:
  ConvolutionGradient(SharedNodes& nodes, const core::Node& node, const gradients::Forward& forward)
      : nodes_(nodes), node_(node), image_(*core::concrete(forward.inputs[0].shape)),
        kernel_(*core::concrete(forward.inputs[1].shape)),
        cotangent_(node.inputs[forward.inputs.size()]), group_(attribute("group")) {}

  TensorId by_image() {
    const Dims windows = nodes_.dims(cotangent_), strides = list("strides"),
               dilations = list("dilations"), pads = list("pads");
    Dims left;  // behind the last window
    for (std::size_t d = 0; d < strides.size(); ++d)
      left.push_back(image_[2 + d] + pads[d] + pads[strides.size() + d] -
                     strides[d] * (windows[2 + d] - 1) - dilations[d] * (kernel_[2 + d] - 1) - 1);
    return nodes_.append("conv_transpose", {cotangent_, node_.inputs[1]},
                         {{"strides", to_sizes(strides)},
                          {"dilations", to_sizes(dilations)},
                          {"pads", to_sizes(pads)},
                          {"group", Polynomial(group_)},
                          {"output_padding", to_sizes(left)}});
  }

  TensorId by_kernel() {
    const TensorId product = nodes_.append("conv", {channels_by_samples(), swapped(cotangent_)},
                                           {{"strides", to_sizes(list("dilations"))},
                                            {"dilations", to_sizes(list("strides"))},
                                            {"pads", to_sizes(list("pads"))},
                                            {"group", Polynomial(group_)}});
    if (nodes_.error()) return product;
    return swapped(without_windows_beyond(product));
  }

  TensorId by_bias() {
    Sizes axes;
    for (std::size_t d = 0; d < image_.size(); ++d)
      if (d != 1) axes.emplace_back(static_cast<std::int64_t>(d));
    return nodes_.append("reduce_sum", {cotangent_},
                         {{"axes", axes}, {"keep_dims", Polynomial(0)}});
  }

 private:
  std::int64_t attribute(const char* name) const { return node_.attributes.get_int(name); }
  Dims list(const char* name) const { return node_.attributes.get_ints(name); }

  /// The first two dimensions exchanged.
  TensorId swapped(TensorId x) {
    Sizes permutation{1, 0};
    for (std::size_t d = 2; d < image_.size(); ++d)
      permutation.emplace_back(static_cast<std::int64_t>(d));
    return nodes_.append("transpose", {x}, {{"perm", permutation}});
  }

  /// [n, g·c, s…] as [c, g·n, s…].
  TensorId channels_by_samples() {
    if (group_ == 1) return swapped(node_.inputs[0]);
    const std::int64_t samples = image_[0], channels = image_[1] / group_;
    Sizes apart{samples, group_, channels}, permutation{2, 1, 0},
        joined{channels, group_ * samples};
    for (std::size_t d = 2; d < image_.size(); ++d) {
      apart.emplace_back(image_[d]);
      permutation.emplace_back(static_cast<std::int64_t>(d) + 1);
      joined.emplace_back(image_[d]);
    }
    const TensorId split = nodes_.append("reshape", {node_.inputs[0]}, {{"shape", apart}});
    const TensorId moved = nodes_.append("transpose", {split}, {{"perm", permutation}});
    return nodes_.append("reshape", {moved}, {{"shape", joined}});
  }

  /// Rows and columns that the last window left out make the product larger than the kernel.
  TensorId without_windows_beyond(TensorId product) {
    const Dims dims = nodes_.dims(product);
    Sizes axes, starts, sizes, steps;
    for (std::size_t d = 2; d < dims.size(); ++d) {
      if (dims[d] == kernel_[d]) continue;
      axes.emplace_back(static_cast<std::int64_t>(d));
      starts.emplace_back(0);
      sizes.emplace_back(kernel_[d]);
      steps.emplace_back(1);
    }
    if (axes.empty()) return product;
    return nodes_.append("slice", {product},
                         {{"axes", axes}, {"starts", starts}, {"sizes", sizes}, {"steps", steps}});
  }

  SharedNodes& nodes_;
  const core::Node& node_;
  Dims image_, kernel_;
  TensorId cotangent_;
  std::int64_t group_;
};

}  // namespace

std::optional<TensorId> append_convolution_gradient(SharedNodes& nodes, const core::Node& node) {
  if (node.op->name != gradient_name("conv")) return std::nullopt;
  std::vector<core::TensorType> types;
  for (const TensorId t : node.inputs)
    types.push_back(t.valid() ? nodes.tensor(t).type
                              : core::TensorType{core::DataType::kOther, {}, false});
  const auto forward = gradients::forward_of(node.attributes, types);
  CHECK(forward, "the shape rule has checked the attributes");
  ConvolutionGradient gradient(nodes, node, *forward);
  switch (node.attributes.get_int(gradients::kInput)) {
  case 0:
    return gradient.by_image();
  case 1:
    return gradient.by_kernel();
  default:
    return gradient.by_bias();
  }
}

}  // namespace soapstone::ops
