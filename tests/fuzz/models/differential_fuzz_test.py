"""A minute of the differential fuzzer: fixed seeds, so that the same models come each time. Ends
early where the machine is slow; then fewer were tried, and the output says how many."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
import differential_fuzz
from differential_fuzz import sanitizers

MODELS = 400
SECONDS = sanitizers.seconds(60)
ROUND_TRIPS = 2100
ROUND_TRIP_SECONDS = sanitizers.seconds(25)
# A slow machine may not get through all; one that gets nowhere has tested nothing.
FEWEST = 30


class DifferentialFuzz(unittest.TestCase):
    def check(self, *arguments):
        options = differential_fuzz.parse([str(a) for a in arguments])
        results = differential_fuzz.fuzz_for(options)
        print(results.summary(), flush=True)
        self.assertEqual(results.finds(), [], "found; the output has the models")
        self.assertGreater(results.counts["judged"], FEWEST)
        self.assertGreater(results.counts["judged"], 0.8 * results.counts["drawn"])
        return results

    def test_optimized_models_compute_the_same(self):
        results = self.check("--models", MODELS, "--seconds", SECONDS, "--no-shrink")
        self.assertGreater(results.counts["rewritten"], 0.2 * results.counts["judged"])

    def test_every_operator_at_every_opset_is_written_as_it_was_read(self):
        self.check("--round-trip", "--models", ROUND_TRIPS, "--seconds", ROUND_TRIP_SECONDS,
                   "--no-shrink")


if __name__ == "__main__":
    unittest.main()
