// The one text language of graphs, rules, litmus tests and golden files. parse(print(g)) has the
// structure and the names of g. Rules are read by rules/, with the same statements.
//
//   graph example
//     x: f32[1, 3, n, n]                          # inputs, in order
//     w: f32[8, 3, 3, 3] = constant 0x9a…         # a large constant: by its hash
//     b: f32[2] = {0.5, -1}                       # a small one: by its values
//     y = conv(x, w; pads=[1, 1, 1, 1])           # defaults need not be written
//     p, q = split(y; axis=1, sizes=[4, 4])
//     return p, q
//
// A name that is no identifier is quoted ("conv1/w:0"; a size symbol: $"batch size"), an optional
// input that is left out is `_`, and a node may have a name: `y = relu(x) @"Relu 1"`. A line
// `symbols n, m` after the first gives the numbering of symbols where the text does not imply it.
// Results whose types cannot be inferred (opaque operators, unknown shapes) have them written:
//
//     y: f32[2, n], z: i64[?] = opaque(x; domain="ai.example", op_type="Sort")
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace soapstone::core {

struct PrintOptions {
  std::int64_t inline_constants_up_to = 16;  ///< Elements; longer ones are written as their hash.
  bool show_types = false;                   ///< Appends the type of each result as a comment.
};

std::string print(const Graph& graph, const PrintOptions& options = {});

/// Infers the result types of a node; ops::infer_types has this form.
using InferTypes = std::function<Result<std::vector<TensorType>>(const OpSchema&, const Attributes&,
                                                                 std::span<const TensorType>)>;
/// Finds the constant with that hash, or null.
using FindLiteral = std::function<LiteralPtr(std::uint64_t hash)>;

/// Errors: kInvalidInput with line and column in `where`.
Result<Graph> parse_graph(std::string_view text, const OpCatalog& catalog, const InferTypes& infer,
                          const FindLiteral& find_literal = {});

}  // namespace soapstone::core
