// Attention: scores, softmax and context of all heads as one form, whatever operators it was made
// of. Knows no library.
#pragma once

#include <vector>

#include "gpu/forms/flat_expression.h"
#include "gpu/forms/operation_graph.h"

namespace soapstone::gpu {

/// result = softmax(scale · queries · keys + added…) · values, with the softmax along the columns
/// of the scores. All tensors have four dimensions, and the elements of a head lie side by side.
/// Several heads of queries may share one of keys and values. It may take several runs, one for
/// each image of shifted windows, say, whose mask is the same for all images: no strides say so at
/// once.
struct Attention {
  GraphTensor queries;             ///< [batch, heads, rows, size]
  GraphTensor keys;                ///< [batch, heads of keys, size, columns]
  GraphTensor values;              ///< [batch, heads of keys, columns, size of a value]
  GraphTensor result;              ///< [batch, heads, rows, size of a value]
  std::vector<GraphTensor> added;  ///< Repeated to [batch, heads, rows, columns].
  double scale = 1;
  std::int64_t runs = 1;  ///< How far apart they lie is the step of each tensor.
};

/// The only output of a region of the graph. Errors: kUnsupported, with the reason.
core::Result<Attention> attention_of(const core::Graph& graph, const Region& region);

/// Operations in the order in which cuDNN knows attention: the statistics of the softmax are among
/// them, though nothing reads them, as its engines refuse a graph without.
OperationGraph operations_of(const Attention& attention);

}  // namespace soapstone::gpu
