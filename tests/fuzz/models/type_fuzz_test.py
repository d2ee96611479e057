"""The fuzzer over element types on fixed seeds."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
import type_fuzz
from differential_fuzz import sanitizers

MODELS = 120
SECONDS = sanitizers.seconds(40)
# A slow machine may not get through all; one that gets nowhere has tested nothing.
FEWEST = 20


class TypeFuzz(unittest.TestCase):
    def test_every_type_is_carried_through(self):
        counts, finds = type_fuzz.fuzz(MODELS, SECONDS, seed=0)
        print(dict(counts), flush=True)
        self.assertEqual(finds, [])
        self.assertGreater(counts["result: rewritten"], FEWEST)
        self.assertGreater(counts["judged"], FEWEST // 2)


if __name__ == "__main__":
    unittest.main()
