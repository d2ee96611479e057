// The messages of one rank to the others of its group, each by its place there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "parallel/ranks/connection.h"

namespace soapstone::parallel {

class RankMessages {
 public:
  /// `ranks`: of the connection, by place, this one among them. Messages of two tags do not mix.
  RankMessages(std::shared_ptr<Connection> connection, std::vector<int> ranks, int tag);

  int place() const { return place_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  /// The rank of the connection.
  int rank_at(int place) const { return ranks_[static_cast<std::size_t>(place)]; }
  const std::shared_ptr<Connection>& connection() const { return connection_; }

  /// Start a message and append it to `started`. Errors: the first failure of the connection.
  core::Status send(std::span<const std::byte> data, int to,
                    std::vector<StartedMessage>& started) const;
  core::Status receive(std::span<std::byte> data, int from,
                       std::vector<StartedMessage>& started) const;
  core::Status finish(std::vector<StartedMessage>& messages, const CallName& name) const {
    return connection_->finish(messages, name);
  }

 private:
  std::shared_ptr<Connection> connection_;
  std::vector<int> ranks_;
  int tag_ = 0, place_ = 0;
};

}  // namespace soapstone::parallel
