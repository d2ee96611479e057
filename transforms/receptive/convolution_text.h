// The text of rules about convolutions and their windows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// The first dimension of places of an image.
inline constexpr std::size_t kPlaces = 2;
/// Elements of a window that is made of others.
inline constexpr std::int64_t kMostWindowElements = 256;

/// Which elements of an image are read for one element of the result, by dimension: the first and
/// the last one, relative to the place, and the distance from each to the next.
struct Window {
  core::Dims low, high, step;
  std::int64_t size(std::size_t d) const { return (high[d] - low[d]) / step[d] + 1; }
  bool operator==(const Window&) const = default;
};

struct Convolution {
  core::TensorId image, result;
  bool has_bias = false;
  Window window;
  core::Dims strides;
  core::Dims end;  ///< By dimension: how many more places there are than the image has, unstrided.
  std::int64_t group = 1;
  std::int64_t results = 0;   ///< Channels of the result.
  std::int64_t operands = 0;  ///< Channels of the image in each group.
};

/// Additions of convolutions and other tensors of one type.
struct Sum {
  std::vector<Convolution> convolutions;
  std::vector<core::TensorId> others;
  std::vector<std::array<core::TensorId, 3>> additions;  ///< Operands and result, in order.
};

/// None: the node is no convolution of known shapes.
std::optional<Convolution> convolution_at(const core::Graph& graph, core::NodeId id);

/// Whether one node alone reads it, and it is no result of the graph.
bool is_inner(const core::Graph& graph, core::TensorId id);
/// Empty: not all of them are numbers, or there are none.
core::Dims dims_of(const core::Graph& graph, core::TensorId id);

/// `w3`
std::string numbered(const char* name, std::size_t k);
/// `1, 3, 3`
std::string list(const core::Dims& numbers);
/// `  x: [1, 3, 9]`, a line of the head of a rule.
std::string declared(const core::Graph& graph, const std::string& name, core::TensorId id);
/// The lines `y = reshape(x; …)`, and `y = transpose(x; …)`.
std::string reshaped(const std::string& result, const std::string& x, const std::string& shape);
std::string transposed(const std::string& result, const std::string& x, const core::Dims& order);
/// Lists of dimensions, and of what is taken along each.
struct CutTexts {
  std::string axes, starts, sizes, steps;
};
/// The line `y = slice(x; …)`.
std::string cut_out(const std::string& result, const std::string& x, const CutTexts& cut);
/// The line `y = pad(x; …)`: zeros around each dimension, and between its elements.
std::string padded(const std::string& result, const std::string& x, const core::Dims& around,
                   const core::Dims& between);
/// The line `y = concat(…; axis=…)`.
std::string concatenated(const std::string& result, const std::vector<std::string>& parts,
                         int axis);
/// The line `y = mul(a, b)`.
std::string multiplied(const std::string& result, const std::string& a, const std::string& b);
/// The lines of the sum of all, under that name; `part` begins the names of partial sums.
std::string summed(const std::vector<std::string>& terms, const std::string& name,
                   const char* part);
/// The lines that add terms as the sum does. `names`: of all that it adds; those of its results are
/// added, the last one is `y`.
std::string additions(const Sum& sum, std::map<core::TensorId, std::string>& names);
/// The rule `window_of_…` of these lines.
std::string window_rule(const char* what, const std::string& head, const std::string& source,
                        const std::string& target);
/// The line `y = conv(x, w, b; …)`; no bias if `b` is empty.
std::string convolved(const Convolution& conv, const std::string& result, const std::string& x,
                      const std::string& w, const std::string& b);
/// The call of a node with one operand, which stands where the braces are: `relu({})`.
std::string call_around(const core::Graph& graph, const core::Node& node);

/// Preconditions of all: `window` holds the convolution's; several have one window.
std::string with_window(const Convolution& conv, const Window& window);
/// `group` divides the convolution's: filters are zero between the groups that become one.
std::string in_groups(const Convolution& conv, std::int64_t group);
/// `behind`: what is done to each result, `relu({})`, or nothing.
std::string joined_convolutions(const std::vector<Convolution>& all, const std::string& behind);
/// None: the sizes of what is added are no polynomials in those of the images.
std::optional<std::string> summed_convolutions(const Sum& sum);

}  // namespace soapstone::transforms
