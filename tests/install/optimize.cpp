// Optimizes SqueezeNet with a rule and a cost function of one's own.
#include <cstdio>

#include "jobs/optimize/optimize.h"
#include "models/networks/builders.h"

using namespace soapstone;

constexpr const char* kRule = R"(
# One relu behind a concat replaces one in front of each part.
rule one_relu_behind_concat
  x: [n, c, h, w]   y: [n, d, h, w]
  source
    rx = relu(x)
    ry = relu(y)
    z = concat(rx, ry; axis=1)
  target
    xy = concat(x, y; axis=1)
    z = relu(xy)
)";

// The cost of a graph: its operators, without those that are computed once from weights.
double operators(const core::Graph& graph) {
  double count = 0;
  for (const core::NodeId node : graph.order()) count += graph.is_constant_expression(node) ? 0 : 1;
  return count;
}

int main() {
  jobs::OptimizeRequest request;
  request.graph = models::build_model("squeezenet", {{"image", 64}}).value();
  request.output = "faster.onnx";
  request.rules.text = kRule;                       // It is proved before it is used.
  request.rules.only = {"one_relu_behind_concat"};  // Without this line: the shipped rules, too.
  request.graph_cost = operators;
  const auto outcome = jobs::optimize(request);
  if (!outcome) return std::fprintf(stderr, "%s\n", outcome.error().to_string().c_str()), 1;
  const search::OptimizeReport& report = outcome->report;
  std::printf("%.0f operators instead of %.0f\n", operators(report.graph),
              operators(*request.graph));
  for (const search::RuleUse& use : report.rules_applied)
    std::printf("%d x %s\n", use.count, use.rule.c_str());
}
