// Crossings of lines, and ideal lines, as pure functions of points.

/**
 * crossings returns the crossings of two lines {xs, values, lows, highs} as {from, to, at, value, sure, ahead}. A
 * crossing is sure if the intervals do not overlap on either side, with a different line above on each side. If only
 * the medians cross, sure is false, and from and to enclose the whole unclear range. The field ahead is 1 if the
 * second line is above afterwards. The parameters log and logY state which axes are logarithmic. The fields at and
 * value are the point at which the drawn lines meet.
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
  let before = -1; // the last index at which one line was surely above
  let open = null; // a crossing of medians since then
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

// apart returns 1 if the interval of b is above the interval of a, and -1 if it is below. It returns 0 if the
// intervals overlap or are missing.
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

// counted matches axes of numbers of workers, or of amounts of work per iteration.
const counted = /trainer|batch|sample|size|bytes|worker|^n$/i;

/**
 * idealOf returns the ideal course of a metric over an axis, as if an iteration took no longer with more workers or
 * work. Rates grow in proportion, and times stay constant. It is null for shares, losses and memory, and for other
 * axes.
 */
export function idealOf(metric, axis) {
  if (!counted.test(axis)) return null;
  if (metric.better === 'higher' && /\/s$/.test(metric.unit)) return { kind: 'proportional', says: `in proportion to ${axis}, from the smallest on` };
  if (metric.better === 'lower' && /^(ns|µs|us|ms|s)$/.test(metric.unit)) return { kind: 'constant', says: `as long as with the smallest ${axis}` };
  return null;
}

/**
 * idealLine returns the ideal course of a line. It starts at the line's first value and is proportional or constant.
 */
export function idealLine(kind, line) {
  const first = line.values.findIndex((v) => Number.isFinite(v));
  if (first < 0) return null;
  const xs = line.xs.slice(first);
  const [x0, v0] = [line.xs[first], line.values[first]];
  if (kind === 'proportional' && !(x0 > 0)) return null;
  return { xs, values: xs.map((x) => (kind === 'proportional' ? (v0 * x) / x0 : v0)) };
}
