// Collective operations on memory of the host, made of messages. Every rank reduces with the same
// arithmetic in the order of ranks, so results are those of virtual ranks, bit for bit.
#pragma once

#include <memory>

#include "parallel/ranks/connection.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::parallel {

/// All ranks of the connection. Subsets share it; it ends with the last of them.
std::unique_ptr<runtime::Collectives>
make_message_collectives(const std::shared_ptr<Connection>& connection);

}  // namespace soapstone::parallel
