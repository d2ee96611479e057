// The figures of plans by name: one list for writing and for reading. Private to parallel/plans.
#pragma once

namespace soapstone::parallel {

/// Calls `visit(name, figure)` for each figure of a StepTime.
template <class Time, class Visit>
void each_figure(Time& time, const Visit& visit) {
  visit("simulated_us", time.total_us);
  visit("compute_us", time.compute_us);
  visit("exchange_us", time.exchange_us);
  visit("bubble_us", time.bubble_us);
  visit("handover_us", time.handover_us);
  visit("gradient_sum_us", time.gradient_sum_us);
  visit("update_us", time.update_us);
  visit("peak_bytes", time.peak_bytes);
  visit("weight_bytes", time.memory.weight_bytes);
  visit("gradient_bytes", time.memory.gradient_bytes);
  visit("state_bytes", time.memory.state_bytes);
  visit("kept_bytes", time.memory.kept_bytes);
  visit("working_bytes", time.memory.working_bytes);
  visit("buffer_bytes", time.memory.buffer_bytes);
  visit("bytes_moved", time.bytes_moved);
}

/// Calls `visit(name, figure)` for each figure of a RehearsedStep.
template <class Step, class Visit>
void each_rehearsed(Step& step, const Visit& visit) {
  visit("step_us", step.step_us);
  visit("peak_bytes", step.peak_bytes);
}

/// Of a NodeEstimate. What is 0 is left out of files.
template <class Estimate, class Visit>
void each_estimate(Estimate& estimate, const Visit& visit) {
  visit("forward_us", estimate.forward_us);
  visit("forward_exchange_us", estimate.forward_exchange_us);
  visit("again_us", estimate.again_us);
  visit("backward_us", estimate.backward_us);
  visit("backward_exchange_us", estimate.backward_exchange_us);
  visit("gradient_sum_us", estimate.gradient_sum_us);
  visit("update_us", estimate.update_us);
  visit("weight_bytes", estimate.weight_bytes);
  visit("kept_bytes", estimate.kept_bytes);
  visit("handover_bytes", estimate.handover_bytes);
}

/// Of a MeshShape, what the key `pipeline` has in numbers.
template <class Shape, class Visit>
void each_size(Shape& shape, const Visit& visit) {
  visit("stages", shape.stages);
  visit("chunks", shape.chunks);
  visit("microbatches", shape.microbatches);
  visit("loss_chunks", shape.loss_chunks);
}

}  // namespace soapstone::parallel
