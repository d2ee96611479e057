// What two operators of a chain take at least, one after the other, for a choice of both.
#pragma once

#include <vector>

#include "parallel/placement/bound_options.h"

namespace soapstone::parallel {

class ChainTimes {
 public:
  /// The problem must outlive this.
  explicit ChainTimes(const PlacementProblem& problem);

  /// Every part of the reader starts so long after the first part of the source has ended: if what
  /// it reads cannot all be on one device, some of it is sent; if it reads all, all have to end.
  double delay(const PlacedEdge& edge, const SingleOption& from, const SingleOption& to) const;

  /// From the start of the source's first part to the end of the reader's last one, beside a part
  /// of each. The fullest device of one of them has its other parts to run; if all are read, both
  /// have. If each part has its own reader, either no part leaves its device, which then runs both,
  /// or one waits to be sent.
  double pair(const PlacedEdge& edge, const SingleOption& from, const SingleOption& to) const;

 private:
  /// Of a row between devices, at least: any two, or two in different nodes.
  double transfer(const Overlap& overlap, bool between_nodes) const;
  double least_transfer(const OverlapTable& table, std::size_t readers) const;

  const PlacementProblem& problem_;
  std::vector<bool> is_between_;  ///< By class of paths.
};

}  // namespace soapstone::parallel
