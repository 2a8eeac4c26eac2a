#!/usr/bin/env python3
"""Makes vectors.txt, the known answers for tests/vectors.rs: the family test written a second time, and SciPy's distributions.

    python3 -m venv /tmp/vectors && /tmp/vectors/bin/pip install numpy==2.4.6 scipy==1.17.1
    /tmp/vectors/bin/python crates/stats/tests/vectors.py > crates/stats/tests/vectors.txt

Nothing here is shared with the Rust: patterns of signs are a matrix, and every mean, variance and t is computed from it at once.
"""

import itertools

import numpy as np
from scipy import stats


def weights(own):
    if len(own) < 4:
        return np.full(len(own), 1 / len(own))
    w = 1 / np.maximum(own, np.median(own))
    return w / w.sum()


def own_variances(s2, w):
    """s2: patterns x candidates."""
    if s2.shape[1] < 3:
        return np.maximum(2 * s2, 1e-24)
    a = w**2 / (1 - 2 * w)
    b = (s2 @ a) / (1 + a.sum())
    floor = np.maximum(0.1 * np.median(s2, axis=1), 1e-24)
    return np.maximum((s2 - b[:, None]) / (1 - 2 * w), floor[:, None])


def residuals(y, w):
    """y: rounds x candidates; less the round's weighted mean and the candidate's mean."""
    c = y - (y @ w)[:, None]
    return c - c.mean(axis=0)


def centred(y):
    n, k = y.shape
    r = residuals(y, np.full(k, 1 / k))
    own = own_variances((r**2).sum(axis=0)[None, :] / (n - 1), np.full(k, 1 / k))[0]
    w = weights(own)
    r = residuals(y, w)
    return r, w, own_variances((r**2).sum(axis=0)[None, :] / (n - 1), w)[0]


def largest(r, w, signs):
    """The largest |t| of each pattern. signs: patterns x rounds of this table."""
    n, k = r.shape
    m = signs.mean(axis=1)
    flat = np.isclose(np.abs(m), 1)
    e = signs / np.sqrt(1 - np.where(flat, 0, m) ** 2)[:, None]
    mean = e @ r / n
    s2 = np.maximum((r**2).sum(axis=0) - n * mean**2, 0) / (n - 2)
    g = own_variances(s2, w)
    t = [np.abs(mean[:, i] - mean[:, j]) / np.sqrt((g[:, i] + g[:, j]) / n) for i, j in itertools.combinations(range(k), 2)]
    return np.where(flat, 0, np.max(t, axis=0))


def family(tables, alpha):
    """tables: (numbers of the rounds, rounds x candidates)."""
    numbers = sorted({number for rounds, _ in tables for number in rounds})
    n = len(numbers)
    # The last round keeps its sign; the first pattern is that of the rounds as they were.
    signs = np.array([[1 - 2 * (p >> at & 1) for at in range(n)] for p in range(2 ** (n - 1))], dtype=float)[1:]
    parts = []
    for rounds, y in tables:
        if 0.5 ** (len(rounds) - 1) <= alpha and y.shape[1] > 1:
            r, w, _ = centred(y)
            parts.append(largest(r, w, signs[:, [numbers.index(number) for number in rounds]]))
    most = np.sort(np.max(parts, axis=0))[::-1]
    allowed = int(np.floor(alpha * 2 ** (n - 1) + 1e-9))
    critical = most[allowed - 1]
    print(f"critical {critical!r}".replace("np.float64(", "").replace(")", ""))
    for at, (rounds, y) in enumerate(tables):
        own = centred(y)[2]
        for i, j in itertools.combinations(range(y.shape[1]), 2):
            estimate = (y[:, i] - y[:, j]).mean()
            error = np.sqrt((own[i] + own[j]) / len(rounds))
            t = estimate / error
            p = max((1 + (most >= abs(t) * (1 - 1e-10)).sum()) / 2 ** (n - 1), 0.5 ** (len(rounds) - 1))
            print("pair", at, i, j, *(float(x) for x in (estimate, error, t, p)))


def show(name, alpha, tables):
    print("family", name, alpha)
    for rounds, y in tables:
        print("table", y.shape[1])
        for number, row in zip(rounds, y):
            print("row", number, *(float(x) for x in row))
    family(tables, alpha)


def main():
    random = np.random.default_rng(20261122)

    def table(rounds, noise, effects):
        noise, effects = np.array(noise), np.array(effects)
        busy = random.normal(0, 0.1, (len(rounds), 1))
        return (list(rounds), busy + effects + noise * random.normal(0, 1, (len(rounds), len(noise))))

    show("two candidates", 0.05, [table(range(6), [0.05, 0.1], [0, 0.3])])
    show("three candidates", 0.05, [table(range(8), [0.05, 0.1, 0.02], [0, 0.1, 0.3])])
    show("eight candidates", 0.05, [table(range(10), [0.05, 0.05, 0.03, 0.22, 0.07, 0.09, 0.12, 0.13], np.arange(8) / 20)])
    show("one very noisy", 0.01, [table(range(12), [0.05, 0.05, 0.05, 0.05, 0.4], [0, 0.1, 0.2, 0, 0])])
    show(
        "tables that share rounds",
        0.05,
        [
            table(range(9), [0.05] * 4, [0, 0.1, 0, 0.2]),
            table([1, 2, 4, 5, 6, 7, 8, 10], [0.1, 0.03, 0.05], [0, 0.2, 0]),
            table([3, 4, 5], [0.1, 0.03], [0, 0.2]),
        ],
    )

    # Student's t of two candidates is that of SciPy.
    rounds, y = table(range(9), [0.05, 0.1], [0, 0.1])
    print("paired", *(float(x) for x in y[:, 0]), "|", *(float(x) for x in y[:, 1]), "|", *(float(x) for x in stats.ttest_rel(y[:, 0], y[:, 1])))
    for n, level in [(3, 0.95), (10, 0.95), (20, 0.9), (100, 0.99)]:
        t = stats.t.ppf((1 - level) / 2, n - 1)
        print("cut", n, level, float(stats.norm.cdf(np.sqrt(n / (n - 1)) * t)))
    for q, df, power in [(3.7, 18, 0.8), (2.2, 9, 0.8), (4.5, 12, 0.9), (3.0, 5, 0.5)]:
        # The noncentrality at which |t| > q has this power.
        low, high = 0.0, 50.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if stats.nct.sf(q, df, middle) < power else (low, middle)
        print("noncentral", q, df, power, low)


main()
