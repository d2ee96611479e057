// The sink for callers that do not want to hear anything.
#include "core/base/progress.h"

namespace soapstone::core {
namespace {

class Silent final : public ProgressSink {
 public:
  void stage(std::string_view) override {}
  void update(std::uint64_t, std::uint64_t, std::string_view) override {}
  void log(LogLevel, std::string_view) override {}
};

}  // namespace

ProgressSink& silent() {
  static Silent sink;  // stateless
  return sink;
}

}  // namespace soapstone::core
