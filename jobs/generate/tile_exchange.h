// Shares the generator's tiles among ranks.
#pragma once

#include "generator/enumeration/tiles.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::jobs {

class RankTileExchange final : public generator::TileExchange {
 public:
  explicit RankTileExchange(parallel::Ranks& ranks) : ranks_(ranks) {}
  std::size_t rank() const override { return ranks_.rank(); }
  std::size_t ranks() const override { return ranks_.size(); }
  core::Result<std::vector<parallel::Bytes>>
  all_gather(core::Result<parallel::Bytes> mine) override {
    return ranks_.all_gather(std::move(mine));
  }

 private:
  parallel::Ranks& ranks_;
};

}  // namespace soapstone::jobs
