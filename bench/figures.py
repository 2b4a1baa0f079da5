"""One figure of the bench, how it is judged, and how the tries of one figure are merged.

Of the tries of a missed figure the best counts: other programs on the machine make a round dearer far more often than
cheaper, and a median that is within the bound once has shown what the library itself costs. Of a kind that no other program can
spoil (never) the worst counts. All tries are kept and printed.
"""
import math

UP = ('rate',)  # the larger the better; of all other kinds the smaller
OWN = ('most', 'never')  # judged by the figure under cuquota, not by what is added


class Figure:
    """name; bare, cuquota, added, peer: numbers or None; unit; budget: a row of budget.def or None."""

    def __init__(self, name, text, unit, bare=None, cuquota=None, added=None, budget=None, bound=None, samples=None,
                 peer=None, note=None):
        self.name, self.text, self.unit, self.budget, self.note = name, text, unit, budget, note
        self.bare, self.cuquota, self.added, self.peer = bare, cuquota, added, peer
        self.bound = bound if bound is not None else budget.bound if budget else None
        self.spread = {v: s.spread for v, s in (samples or {}).items()}
        self.rounds = next(iter(samples.values())).of if samples else None
        self.instructions, self.tries, self.broken = None, [], False

    @property
    def judged(self):
        """The number that the bound is for."""
        return self.cuquota if self.budget and self.budget.kind in OWN else self.added

    @property
    def within(self):
        if self.bound is None:
            return not self.broken
        value = self.judged
        if value is None or math.isnan(value):
            return False
        return value >= self.bound if self.budget.kind in UP else value <= self.bound

    def better(self, other):
        """Which of two tries of one figure counts; it takes over the tries of both."""
        kind = self.budget.kind if self.budget else ''
        key = lambda f: math.inf if f.judged is None or math.isnan(f.judged) else -f.judged if kind in UP else f.judged
        best = (max if kind == 'never' else min)((self, other), key=key)
        best.tries = self.tries + other.tries
        return best

    def json(self):
        """The shape of bench/README.md, and what is more."""
        clean = lambda v: None if v is None or not math.isfinite(v) else float('%.6g' % v)
        out = {'bare': clean(self.bare), 'cuquota': clean(self.cuquota), 'added': clean(self.added), 'unit': self.unit,
               'budget': clean(self.bound), 'within': self.within, 'text': self.text,
               'spread': {v: [clean(x) for x in s] for v, s in self.spread.items()}, 'rounds': self.rounds,
               'tries': [clean(t) for t in self.tries]}
        if self.budget:
            out['row'], out['kind'] = self.budget.text, self.budget.kind
        for key in ('peer', 'instructions', 'note'):
            value = getattr(self, key)
            if value is not None:
                out[key] = clean(value) if key == 'peer' else value
        return out


def added(name, text, samples, budget=None, bound=None, unit='ns', **more):
    """What cuquota adds: the difference of the medians."""
    bare, with_it = samples['bare'].median, samples['cuquota'].median
    return Figure(name, text, unit, bare, with_it, with_it - bare, budget, bound, samples,
                  samples['peer'].median if 'peer' in samples else None, **more)


def rate(name, text, samples, budget=None, **more):
    """Pairs per second, in millions; added: what cuquota's own part alone would allow; infinite where it is no slower."""
    bare, with_it = samples['bare'].median, samples['cuquota'].median
    own = 0.0 if not with_it else math.inf if with_it >= bare else 1 / (1 / with_it - 1 / bare)
    return Figure(name, text, 'M/s', bare, with_it, own, budget, None, samples,
                  samples['peer'].median if 'peer' in samples else None, **more)


def share(name, text, samples, budget=None, unit='ms', **more):
    """How much longer with cuquota, in percent; bare and cuquota in `unit`."""
    bare, with_it = samples['bare'].median, samples['cuquota'].median
    return Figure(name, text, unit, bare, with_it, 100 * (with_it / bare - 1), budget, None, samples,
                  samples['peer'].median if 'peer' in samples else None, **more)
