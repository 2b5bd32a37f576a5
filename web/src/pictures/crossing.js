// Where lines cross, and what would be ideal: pure functions of points.

/**
 * crossings of two lines of {xs, values, lows, highs}: {from, to, at, value, sure, ahead}. One is sure if the
 * intervals do not overlap on either side, once the one line and once the other above. Where only the medians
 * change places, one cannot tell: sure is false, and from and to are around all of that. ahead is 1 if the
 * second line is above after it. log and logY say what is drawn as logarithms: at and value are where the lines
 * that are drawn meet.
 */
export function crossings(a, b, log = false, logY = false) {
  const to = logY ? Math.log : Number;
  const points = [];
  a.xs.forEach((x, i) => {
    const j = b.xs.indexOf(x);
    if (j < 0 || !Number.isFinite(a.values[i]) || !Number.isFinite(b.values[j])) return;
    points.push({ x, a: to(a.values[i]), d: to(b.values[j]) - to(a.values[i]), sure: apart(a, i, b, j) });
  });
  const out = [];
  let before = -1; // the last place where one was surely above
  let open = null; // medians that changed places since then
  points.forEach((p, i) => {
    if (i > 0 && points[i - 1].d * p.d < 0) {
      const found = { from: points[i - 1].x, to: p.x, ...meet(points[i - 1], p, log, logY), ahead: Math.sign(p.d) };
      open = open ? { ...found, from: open.from } : found;
    }
    if (p.sure === 0) return;
    if (open) {
      const sure = before >= 0 && points[before].sure === -p.sure;
      if (sure) out.push({ ...open, from: points[before].x, to: p.x, sure, ahead: p.sure });
      else out.push({ ...open, sure: false });
      open = null;
    } else if (before >= 0 && points[before].sure === -p.sure) {
      out.push({ from: points[before].x, to: p.x, ...meet(points[before], p, log, logY), sure: true, ahead: p.sure });
    }
    before = i;
  });
  if (open) out.push({ ...open, sure: false });
  return out;
}

// apart is 1 if b is above a by their intervals, -1 below, 0 if they overlap or there are none.
function apart(a, i, b, j) {
  const [al, ah, bl, bh] = [a.lows[i], a.highs[i], b.lows[j], b.highs[j]];
  if (![al, ah, bl, bh].every(Number.isFinite)) return 0;
  return bl > ah ? 1 : bh < al ? -1 : 0;
}

function meet(p, q, log, logY) {
  const part = p.d / (p.d - q.d);
  const at = log ? Math.exp(Math.log(p.x) + part * (Math.log(q.x) - Math.log(p.x))) : p.x + part * (q.x - p.x);
  const value = p.a + part * (q.a - p.a);
  return { at, value: logY ? Math.exp(value) : value };
}

// What grows with how many work, or with what one of them is given at once.
const counted = /trainer|batch|sample|size|bytes|worker|^n$/i;

/**
 * idealOf says what a metric would do over an axis if an iteration took no longer with more: rates grow in
 * proportion, times stay. Null where nothing is ideal: of shares, losses and memory, and over other axes.
 */
export function idealOf(metric, axis) {
  if (!counted.test(axis)) return null;
  if (metric.better === 'higher' && /\/s$/.test(metric.unit)) return { kind: 'proportional', says: `in proportion to ${axis}, from the smallest on` };
  if (metric.better === 'lower' && /^(ns|µs|us|ms|s)$/.test(metric.unit)) return { kind: 'constant', says: `as long as with the smallest ${axis}` };
  return null;
}

/** idealLine is the ideal of a line: its first value, in proportion or as it is. */
export function idealLine(kind, line) {
  const first = line.values.findIndex((v) => Number.isFinite(v));
  if (first < 0) return null;
  const xs = line.xs.slice(first);
  const [x0, v0] = [line.xs[first], line.values[first]];
  if (kind === 'proportional' && !(x0 > 0)) return null;
  return { xs, values: xs.map((x) => (kind === 'proportional' ? (v0 * x) / x0 : v0)) };
}
