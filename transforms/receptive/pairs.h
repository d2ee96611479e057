// Pairs of depthwise convolutions, one behind the other, whose results are added: strips of several
// lengths, and kernels of several sizes, over one image.
#pragma once

#include <string>
#include <vector>

#include "transforms/receptive/convolution_text.h"

namespace soapstone::transforms {

/// Whether the convolution may be one of a pair: each channel is convolved by itself, and no place
/// is left out. Other rules of that kind take long to be proved.
bool may_be_paired(const Convolution& conv);

/// The rule that makes two convolutions of them, between which the results of each channel stand
/// side by side. `first`: of one image; each makes the image of the convolution of the sum that has
/// its place, by `behind` (call_around(), or nothing). Preconditions: all may be paired and have as
/// many channels; those of each half have one window.
std::string paired_convolutions(const std::vector<Convolution>& first, const std::string& behind,
                                const Sum& sum);

}  // namespace soapstone::transforms
