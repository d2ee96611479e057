// How sizes, equations and shapes are written in rules about linear maps of one source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/affine/composed_map.h"

namespace soapstone::transforms {

using Names = std::vector<std::string>;

/// `a, b`
std::string joined(const Names& names);

/// Names in its texts: `u` is the source, `x` the source with its summed axes as one, which is the
/// source itself if they are one axis; `v` is the matrix of a tensor and `c` what is added, both
/// with a suffix.
class MapWriter {
 public:
  /// `any_sizes`: a size is a symbol, `d64`, else a number.
  MapWriter(const core::Graph& graph, const MapSource& source, bool any_sizes);

  const core::Shape& shape_of(core::TensorId id) const { return graph_.tensor(id).type.shape; }
  std::string size(std::int64_t n) const;
  Names sizes(core::TensorId id) const;
  /// Writes the sizes of a tensor otherwise from now on: `d8*d64`.
  void write_sizes(core::TensorId id, Names names) {
    written_.insert_or_assign(id, std::move(names));
  }
  std::string declared(core::TensorId id) const;

  bool is_one_axis() const { return summed_.size() == 1; }
  /// How many elements are summed over: `d64`, `d8*d64`.
  std::string count() const;
  /// The declaration of what the texts begin with.
  std::string declared_source() const;
  /// Lines that make `x` with that suffix of `u`; none if they are the same.
  std::string summed_source(const std::string& suffix) const;
  /// The name of `x` with a suffix.
  std::string source_name(const std::string& suffix) const;
  /// Lines that make `unit`, the matrix of the source itself.
  std::string unit_matrix() const;

  /// The shape of a tensor with that size along its first kept axis, and 1 along the others.
  Names lying_as(core::TensorId id, const std::vector<std::size_t>& kept,
                 const std::string& first) const;
  /// The shape of what is added to a map.
  Names offset(core::TensorId id, const LinearMap& map) const {
    return map.is_offset_whole ? sizes(id) : lying_as(id, map.kept, "1");
  }
  std::string equation(core::TensorId id, const std::vector<std::size_t>& kept) const;
  /// Lines that make `name` of `x`, the matrix and the offset with that suffix.
  std::string applied(core::TensorId id, const LinearMap& map, const std::string& suffix,
                      const std::string& name, const std::string& source) const;

  /// The axes of `x`: a letter for each kept one, and one for all summed ones, where the first of
  /// them is. Those that do not lie together are behind the kept ones.
  std::string labels() const;
  /// The shape of `x`.
  Names summed_shape() const;
  static constexpr char kSummed = 'z';

 private:
  std::vector<std::size_t> order() const;

  const core::Graph& graph_;
  const MapSource& source_;
  bool any_sizes_;
  std::vector<std::size_t> summed_;
  std::map<core::TensorId, Names> written_;
};

}  // namespace soapstone::transforms
