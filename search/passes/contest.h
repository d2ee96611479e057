// Which way of searching suits a region: regions of the same operators are a family, and a few
// regions of each family are searched in both ways. What finds more there searches the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "search/regions/region.h"
#include "search/regions/region_search.h"

namespace soapstone::search {

class Contest {
 public:
  /// A region of each family that is not decided yet.
  std::vector<const Region*> trials(const std::vector<Region>& regions) const;
  /// `moves` and `saturation` are what both ways found in a region. A family is decided for
  /// saturation if that finds more; against it if it finds much less, or the same, which moves find
  /// with less work; else after a few regions.
  void judge(const Region& region, const RegionResult& moves, const RegionResult& saturation);
  /// Decides after the first trials, which are on the original, how deep the contest goes. It is
  /// deep if some family is stuck: in all its trials moves came to the end of what they reach while
  /// saturation, which is close to them, was cut off. What moves do first then hides more than they
  /// gain. True: the contest begins anew, with more e-nodes, and saturation wins what is stuck.
  bool deepen();
  bool is_deep() const { return is_deep_; }
  /// Whether saturation has found more in the region's family.
  bool prefers_saturation(const Region& region) const;
  /// Whether it has in any family.
  bool is_won_by_saturation() const;

 private:
  /// What both ways gained in the regions of a family that were tried.
  struct Score {
    double moves_us = 0, saturation_us = 0;
    int trials = 0;
    int ended = 0;  ///< Trials that moves have exhausted, and saturation has not.
    bool is_close() const;
    bool is_decided() const;
    bool is_stuck() const { return ended == trials && is_close(); }
  };
  bool is_for_saturation(const Score& score) const;

  std::map<std::uint64_t, Score> scores_;  ///< By family.
  std::set<std::vector<std::uint64_t>> tried_;
  bool is_deep_ = false, is_depth_decided_ = false;
};

}  // namespace soapstone::search
