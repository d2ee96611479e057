// Long short-term memory, unrolled: the networks of recurrent layers are made of it. Private to
// the builders.
#pragma once

#include "models/layers/network.h"

namespace soapstone::models {

/// What a layer hands from one step to the next, both [batch, hidden].
struct LstmState {
  Network::Tensor hidden, cell;
};

/// A layer of LSTM; all steps share its weights. Source: Hochreiter and Schmidhuber, Long
/// Short-Term Memory, 1997, with forget gates (Gers et al., 2000), written as in Zaremba et al.,
/// 2014, section 3.1.
class LstmLayer {
 public:
  LstmLayer(Network& net, std::string name, std::int64_t inputs, std::int64_t hidden);

  /// The state behind step number `step`, which reads x[batch, inputs]. `before`: null is zeros.
  LstmState step(std::size_t step, Network::Tensor x, const LstmState* before) const;
  /// The results of all steps; the layer begins with zeros.
  std::vector<Network::Tensor> run(const std::vector<Network::Tensor>& steps) const;

 private:
  Network& net_;
  std::string name_;
  std::int64_t hidden_;
  Network::Tensor from_input_, from_state_, bias_;
};

/// Layers of LSTM over a sequence, one above the other.
class LstmLayers {
 public:
  /// The weights of layers that read `inputs` numbers (the first) or `hidden` (the others).
  LstmLayers(Network& net, const std::string& name, std::int64_t layers, std::int64_t inputs,
             std::int64_t hidden);

  /// The last layer's result at each step. `states` are those of the layers: before the first step
  /// when it is called (empty: zeros), behind the last one afterward.
  std::vector<Network::Tensor> run(const std::vector<Network::Tensor>& steps,
                                   std::vector<LstmState>& states);

 private:
  std::vector<LstmLayer> layers_;
};

/// x[batch, steps, width] as a [batch, width] for each step.
std::vector<Network::Tensor> split_steps(Network& net, const std::string& name, Network::Tensor x);
/// The reverse.
Network::Tensor join_steps(Network& net, const std::string& name,
                           const std::vector<Network::Tensor>& steps);
/// The embedded tokens of a new input [batch, steps], as a [batch, width] for each step.
std::vector<Network::Tensor> embedded_steps(Network& net, const std::string& name,
                                            const core::Dims& ids, std::int64_t vocabulary,
                                            std::int64_t width);

}  // namespace soapstone::models
