// The setting in which FlexFlow's stand-alone simulator was measured, as placement problems: a
// network and a table of costs from tests/data/parallel, on nodes of four P100.
//
// Times of a part of b samples, with roof(flops, bytes, e) = max(flops / (rate·e), bytes / memory
// rate) + launch, and the efficiency e(rows) = best·rows / (rows + half):
//
//   conv       passes · roof(2·b·co·ho·wo·ci·kh·kw, 4·(b·ci·hi·wi + b·co·ho·wo + ci·co·kh·kw),
//              e(b·ho·wo)); fewer passes on images, which need no gradient
//   pool       passes · roof(b·(c·hi·wi + c·ho·wo)·kh·kw/2, 4·b·(c·hi·wi + c·ho·wo), constant)
//   linear     passes · roof(2·b·ci·co, 4·(b·ci + ci·co + b·co), e(b)), and a softmax
//   lstm       passes · roof(2·b·4h·(ci + h), 4·(4h·(ci + h) + 8·b·h), e(b)) for 8 steps
//   embedding  shared / parts + fixed; concat: shared / parts
//
// A weight of w bytes costs w·(most devices in a node − 1) / rate in a node + w·(nodes − 1) / rate
// between nodes. All operators are cut along samples; linear ones also along outputs, into as many
// parts as there are devices.
#pragma once

#include <string>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

/// `network`: `nmt`, `alexnet`, `inception_v3` or `resnet_101`. The files are ours, so what is
/// wrong with them ends the program.
PlacementProblem published_problem(const std::string& network, std::size_t devices);

}  // namespace soapstone::parallel
