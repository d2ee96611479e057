// What a change of layout between the producer of a tensor and a reader costs: collectives forward
// and backward, and what is kept of the tensor for gradients.
#pragma once

#include "parallel/sharding/mesh.h"
#include "parallel/sharding/sharding.h"

namespace soapstone::parallel {

/// What gradients do with a tensor on its way to a reader.
struct Keeping {
  bool holds = false;  ///< Its values are kept here, from the forward to the backward pass.
  /// The reader's gradient, or the reader that runs again, reads them in the layout of the reader.
  bool rereads = false;
  auto operator<=>(const Keeping&) const = default;
};

struct LayoutChange {
  Conversion forward, backward;
  /// The forward change once more, in the backward pass: what is kept is the layout before it.
  Conversion again;
  double kept_bytes = 0;  ///< On each device.
};

class LayoutChanges {
 public:
  /// Both must outlive this.
  LayoutChanges(const Mesh& mesh, const ShardingOptions& options)
      : mesh_(mesh), options_(options) {}

  /// A weight that is cut is gathered before each pass of each microbatch; one that is whole has
  /// its gradient summed once a step. Of other tensors either layout is kept, whichever is cheaper:
  /// the reader's, or the producer's, which is brought to the reader again in the backward pass (V.
  /// Korthikanti et al., 2022, section 4.2.2).
  LayoutChange change(const TensorWork& tensor, const Layout& from, const Layout& to,
                      Keeping keeping) const;
  /// Its share in the cost of a step; kImpossible if weights must not be gathered.
  double cost(const TensorWork& tensor, const Layout& from, const Layout& to,
              Keeping keeping) const;
  /// How often the passes of a microbatch gather a weight. A forward pass that runs again does so
  /// unit by unit, and has what its unit's backward pass has.
  double weight_passes() const;

 private:
  void keep(const TensorWork& tensor, const Layout& from, const Layout& to, Keeping keeping,
            LayoutChange& change) const;
  double price_of_memory() const { return options_.us_per_byte * options_.kept_microbatches; }
  bool is_allowed(const TensorWork& tensor, const Layout& from, const Layout& to) const;
  double bytes_on_device(const TensorWork& tensor, const Layout& layout) const;

  const Mesh& mesh_;
  const ShardingOptions& options_;
};

}  // namespace soapstone::parallel
