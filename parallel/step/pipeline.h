// Stages of a pipeline: consecutive nodes that run on devices of their own, such that the slowest
// stage is as fast as possible. Knows costs of nodes, not what they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace soapstone::parallel {

/// A node in the order of execution, seen by the pipeline.
struct PipelineNode {
  double us = 0;           ///< Work of one microbatch, there and back.
  double handover_us = 0;  ///< Behind it: bringing to the next stage what later nodes read.
  double exchange_us = 0;  ///< Within a stage; not faster on a faster device.
};

struct PipelineCut {
  std::vector<std::size_t> begins;  ///< Each stage's first node. The first is 0.
  double slowest_us = 0;            ///< Work and handover of the slowest stage.
};

/// The best cut, to a millionth, of `nodes` into exactly `stages` consecutive, non-empty stages;
/// with `chunks` > 1 each stage runs that many pieces in turn (interleaved schedule), and the cut
/// is into stages · chunks pieces, piece k on stage k mod stages. Work takes `slowness[s]` times as
/// long on stage s, so that stages of faster devices have more of it; none: 1. Precondition: there
/// are as many nodes as pieces. Complexity: nodes · pieces · log(1/precision).
PipelineCut cut_pipeline(const std::vector<PipelineNode>& nodes, std::size_t stages,
                         std::size_t chunks = 1, std::span<const double> slowness = {});

}  // namespace soapstone::parallel
