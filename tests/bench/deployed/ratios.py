"""How many times faster one series of timings is than another, with an interval.

A series is a list of loads, each a list of times: a load is one process that read both files afresh,
and the times of one position come from the same turn, so they are pairs. Loads differ from each
other (where pages and buffers come to lie), and turns do (what else the machine does), so the
bootstrap draws loads first, and then turns of each.
"""

import numpy as np

RESAMPLES = 2000
# The low one, where others disturb least, is what tables and summaries go by.
QUANTILES = {"median": 0.5, "low": 0.2}


def log_ratios(original, result, quantile):
    """Arrays of (..., turns) to the logarithm of how many times smaller the result's quantile is."""
    return np.log(np.quantile(original, quantile, axis=-1)) - np.log(
        np.quantile(result, quantile, axis=-1))


def speedup(original, result, quantile=0.5, seed=0):
    """(ratio, low, high): the ratio of quantiles, over loads their geometric mean, and its 95 %
    interval by the paired bootstrap.

    As the spread among L loads underestimates that of their mean by sqrt((L - 1) / L), the interval
    is widened by as much.
    """
    original = [np.asarray(each, float) for each in original]
    result = [np.asarray(each, float) for each in result]
    if not original or [len(a) for a in original] != [len(b) for b in result]:
        raise ValueError("the times are no pairs")
    if min(len(each) for each in original) == 0 or min(map(np.min, original + result)) <= 0:
        raise ValueError("a time is missing or not positive")

    center = np.mean([log_ratios(a, b, quantile) for a, b in zip(original, result)])
    rng = np.random.default_rng(seed)
    count = len(original)
    drawn_ratios = []  # of each load: RESAMPLES * count values, as it may be drawn several times
    for a, b in zip(original, result):
        turns = rng.integers(0, len(a), (RESAMPLES, count, len(a)))
        drawn_ratios.append(log_ratios(a[turns], b[turns], quantile))
    loads = rng.integers(0, count, (RESAMPLES, count))
    drawn = np.stack(drawn_ratios)[loads, np.arange(RESAMPLES)[:, None], np.arange(count)]
    low, high = np.quantile(drawn.mean(axis=1), [0.025, 0.975])
    widen = np.sqrt(count / (count - 1)) if count > 1 else 1
    return tuple(float(np.exp(center + widen * (value - center))) for value in (center, low, high))


def against_the_best(others, ours, quantile):
    """How many times faster ours is than the best of the others, as `speedup` gives it. others: label
    to a series. Which is the best for a load is decided by all other loads: the luckiest of several
    equal ones would look better than it is in the load where it was lucky."""
    times = []
    for load in range(len(ours)):
        rest = [each for each in range(len(ours)) if each != load] or [load]
        best = min(others, key=lambda label: sum(
            np.log(np.quantile(others[label][each], quantile)) for each in rest))
        times.append(others[best][load])
    return speedup(times, ours, quantile)


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def summary(ratios):
    """ratios: name to (ratio, low, high). What the table ends with."""
    if not ratios:
        return "nothing was timed"
    worst = min(ratios, key=lambda name: ratios[name][0])
    best = max(ratios, key=lambda name: ratios[name][0])
    below = sum(ratio < 1 for ratio, _, _ in ratios.values())
    surely = sum(high < 1 for _, _, high in ratios.values())
    return (f"{len(ratios)} models: geometric mean "
            f"{geometric_mean([ratio for ratio, _, _ in ratios.values()]):.3f}, "
            f"worst {ratios[worst][0]:.3f} ({worst}), best {ratios[best][0]:.3f} ({best}), "
            f"{below} below 1, {surely} of them by the whole interval, "
            f"{sum(ratio >= 1.1 for ratio, _, _ in ratios.values())} at 1.10 or more")


def low_ms(loads):
    """A typical time where nothing interferes, in milliseconds."""
    return 1e3 * float(np.quantile(np.concatenate([np.asarray(each) for each in loads]),
                                   QUANTILES["low"]))
