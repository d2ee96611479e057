"""One draw of each family of wrong pairs, on a fixed seed."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
import wrong_pairs


class WrongPairs(unittest.TestCase):
    def test_each_is_seen_and_its_right_neighbor_is_equal(self):
        finds, counts = wrong_pairs.sweep(wrong_pairs.FAMILIES, rounds=1, seed=0)
        print("{} of {} seen, {} of {} right pairs equal".format(*counts), flush=True)
        self.assertEqual(finds, [])
        self.assertGreaterEqual(counts[1], 32)


if __name__ == "__main__":
    unittest.main()
