// The smallest program that uses an installed Soapstone.
#include "core/graph/graph.h"

int main() {
  const auto graph = soapstone::core::GraphBuilder("empty").finish();
  return graph.ok() ? 0 : 1;
}
