// See rank_messages.h.
#include "parallel/ranks/rank_messages.h"

#include <algorithm>
#include <utility>

namespace soapstone::parallel {

RankMessages::RankMessages(std::shared_ptr<Connection> connection, std::vector<int> ranks, int tag)
    : connection_(std::move(connection)), ranks_(std::move(ranks)), tag_(tag) {
  const auto mine = std::ranges::find(ranks_, connection_->messenger().rank());
  place_ = static_cast<int>(mine - ranks_.begin());
}

core::Status RankMessages::send(std::span<const std::byte> data, int to,
                                std::vector<StartedMessage>& started) const {
  SOAPSTONE_RETURN_IF_ERROR(connection_->status());
  return connection_->checked(
      connection_->messenger().start_send(data, rank_at(to), tag_, started));
}

core::Status RankMessages::receive(std::span<std::byte> data, int from,
                                   std::vector<StartedMessage>& started) const {
  SOAPSTONE_RETURN_IF_ERROR(connection_->status());
  return connection_->checked(
      connection_->messenger().start_receive(data, rank_at(from), tag_, started));
}

}  // namespace soapstone::parallel
