"""The command line of a fuzzer that draws models one after the other."""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
import sanitizers


def run(description, fuzz):
    """Calls fuzz(models, seconds, seed), which returns counts by name and finds, and prints them. Returns the exit
    code: 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=sanitizers.seconds(3600))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts, finds = fuzz(options.models, options.seconds, options.seed)
    print(*finds, *(f"{name}: {count}" for name, count in sorted(counts.items())), sep="\n")
    return 1 if finds else 0
