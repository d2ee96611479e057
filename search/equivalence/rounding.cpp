// See rounding.h.
#include "search/equivalence/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"

namespace soapstone::search {
namespace {

using core::DataType;
using core::Graph;
using core::TensorId;

/// So many times the original's own distance from double precision: another order of summation is
/// no worse than that, a wrong factor is.
constexpr double kOfExact = 4;
/// Two runs show less of what may happen than double precision does.
constexpr double kOfMoved = 8;
constexpr double kOfNoisy = 1;

double largest_of(DataType type) {
  switch (type) {
  case DataType::kFloat64:
    return std::numeric_limits<double>::max();
  case DataType::kFloat16:
    return 65504;
  case DataType::kFloat32:
  case DataType::kBFloat16:
    return std::numeric_limits<float>::max();
  default:
    return 0;
  }
}

/// The magnitude below which numbers of the type get coarser, or are flushed to zero.
double smallest_step(DataType type) {
  switch (type) {
  case DataType::kFloat64:
    return std::numeric_limits<double>::min();
  case DataType::kFloat16:
    return 0x1p-24;
  case DataType::kFloat32:
  case DataType::kBFloat16:
    return std::numeric_limits<float>::min();  // kernels may flush what is smaller
  default:
    return 0;
  }
}

/// The coarsest type and the longest sum on the way to each tensor.
struct Path {
  DataType type = DataType::kOther;
  double terms = 1;
};

double terms_of(const Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  if (ops::is_opaque(node)) return 1;
  const auto dims = core::concrete(graph.tensor(node.outputs[0]).type.shape);
  if (!dims) return 1;
  const auto count = static_cast<double>(std::max<std::int64_t>(core::element_count(*dims), 1));
  return std::max(1.0, ops::work_of(graph, id).flops / count);
}

std::vector<Path> paths(const Graph& graph) {
  std::vector<Path> of(graph.tensor_bound());
  const auto own = [&](TensorId id) {
    const DataType type = graph.tensor(id).type.data_type;
    return Path{core::is_floating(type) ? type : DataType::kOther, 1};
  };
  for (const TensorId id : graph.inputs()) of[id.index()] = own(id);
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    Path path{DataType::kOther, terms_of(graph, id)};
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid()) continue;
      const Path& before = of[input.index()];
      if (spacing(before.type) > spacing(path.type)) path.type = before.type;
      path.terms = std::max(path.terms, before.terms);
    }
    for (const TensorId output : graph.node(id).outputs) {
      of[output.index()] = path;
      const DataType type = own(output).type;
      if (spacing(type) > spacing(path.type)) of[output.index()].type = type;
    }
  }
  return of;
}

/// The tolerance in units in the last place. Sums of 16-bit numbers are computed in more bits.
double units(const Path& path) {
  if (path.type == DataType::kBFloat16) return 2;
  if (path.type == DataType::kFloat16) return 4;
  return 4 + 2 * std::sqrt(path.terms);
}

}  // namespace

double spacing(DataType type) {
  switch (type) {
  case DataType::kFloat64:
    return 0x1p-52;
  case DataType::kFloat32:
    return 0x1p-23;
  case DataType::kFloat16:
    return 0x1p-10;
  case DataType::kBFloat16:
    return 0x1p-7;
  default:
    return 0;
  }
}

namespace {

/// Roundings of n different terms add up like √n, and that is what units() allows for. If all terms
/// are alike, as in the image that a network makes of zeros, they are rounded alike, and a sum one
/// by one is off by up to n.
double of_equal_terms(const Path& path) {
  const bool is_in_itself = path.type == DataType::kFloat32 || path.type == DataType::kFloat64;
  return is_in_itself ? std::max(1.0, path.terms / units(path)) : 1;
}

}  // namespace

std::vector<Floor> floors_of(const Graph& graph) {
  const std::vector<Path> of = paths(graph);
  std::vector<Floor> floors;
  for (const TensorId id : graph.outputs()) {
    const DataType own = graph.tensor(id).type.data_type;
    const Path& path = of[id.index()];
    if (!core::is_floating(own)) {
      floors.push_back({});
      continue;
    }
    const double steps = 4 * std::max(smallest_step(own), smallest_step(path.type));
    const double coarsest = std::max(spacing(path.type), spacing(own));
    const double largest = path.type == DataType::kOther
                               ? largest_of(own)
                               : std::min(largest_of(own), largest_of(path.type));
    floors.push_back({units(path) * coarsest, steps, largest, coarsest, of_equal_terms(path)});
  }
  return floors;
}

double size_of(const std::vector<double>& values) {
  // Scaled, since squares of what f32 holds are fine in doubles and those of f64 are not.
  double most = 0;
  for (const double v : values)
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  if (most == 0) return 0;
  double sum = 0;
  std::size_t finite = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    sum += (v / most) * (v / most);
    ++finite;
  }
  return most * std::sqrt(sum / static_cast<double>(finite));
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (std::isfinite(a[i]) && std::isfinite(b[i])) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

Rounding rounding_of(const std::vector<double>& values, std::vector<double> exact) {
  const double own = largest_difference(values, exact);
  return {std::move(exact), own, kOfExact};
}

Rounding rounding_between(const std::vector<double>& values, const std::vector<double>& other,
                          OtherRun run) {
  const double factor = run == OtherRun::kMoved ? kOfMoved : kOfNoisy;
  return {{}, largest_difference(values, other), factor};
}

void Rounding::widen(const Rounding& other) {
  if (other.allowed() <= allowed()) return;
  own_error = other.own_error;
  factor = other.factor;
  equal_terms = other.equal_terms;
}

const Rounding& larger(const Rounding& a, const Rounding& b) {
  return a.allowed() < b.allowed() ? b : a;
}

}  // namespace soapstone::search
