"""The fuzzer over bodies on fixed seeds."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
import body_fuzz
from differential_fuzz import sanitizers

MODELS = 40
SECONDS = sanitizers.seconds(30)
# A slow machine may not get through all; one that gets nowhere has tested nothing.
FEWEST = 3


class BodyFuzz(unittest.TestCase):
    def test_bodies_compute_the_same(self):
        counts, finds = body_fuzz.fuzz(MODELS, SECONDS, seed=0)
        print(dict(counts), flush=True)
        self.assertEqual(finds, [])
        self.assertGreater(counts["judged"], FEWEST)
        self.assertGreater(counts["bodies improved"], 0)


if __name__ == "__main__":
    unittest.main()
