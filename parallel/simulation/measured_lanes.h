// The steps of ranks, as measured: lanes for pictures and traces beside simulated ones.
#pragma once

#include <string>
#include <vector>

namespace soapstone::parallel {

struct MeasuredPart {
  std::string name;
  bool is_exchange = false;
  double start_us = 0, end_us = 0;
  /// The first part of an exchange, in which others that take part had not come yet.
  double waited_us = 0;
  double bytes = 0;  ///< What the rank sends in an exchange, or gives to be joined.
};

struct MeasuredLane {
  std::string name;
  double idle_share = 0;
  std::vector<MeasuredPart> parts;  ///< In order.
};

}  // namespace soapstone::parallel
