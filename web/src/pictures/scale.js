// Scales and their ticks, as pure functions of numbers.

const finite = (x) => typeof x === 'number' && Number.isFinite(x);

/** extent returns the least and the greatest finite value, or null if there is none. */
export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (!finite(v)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return low <= high ? [low, high] : null;
}

/** padded widens an extent by a share on both sides. For a single value it uses a tenth of that value. */
export function padded([low, high], share = 0.05) {
  const by = high > low ? (high - low) * share : Math.abs(low) * 0.1 || 1;
  return [low - by, high + by];
}

/** paddedLog widens an extent on a logarithmic scale. */
export function paddedLog([low, high], share = 0.05) {
  const by = high > low ? (high / low) ** share : 1.5;
  return [low / by, high * by];
}

/** linear returns a function that maps the domain to the range. The method invert maps back. */
export function linear([a, b], [from, to]) {
  const slope = b === a ? 0 : (to - from) / (b - a);
  const scale = (v) => from + (v - a) * slope;
  scale.invert = (p) => (slope === 0 ? a : a + (p - from) / slope);
  return scale;
}

/** ticks returns about count round numbers from low to high. Adjacent ticks are 1, 2 or 5 times a power of ten apart. */
export function ticks(low, high, count = 5) {
  if (!finite(low) || !finite(high) || high <= low) return finite(low) ? [low] : [];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((m) => m * power >= rough * 0.999) ?? 10);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    out.push(Number((i * step).toPrecision(12)));
  }
  return out;
}

/**
 * logTicks returns powers of the base from low to high. It skips powers so that at most count remain. If fewer than
 * three powers of ten lie within, it also returns their multiples by two and five.
 */
export function logTicks(low, high, base = 10, count = 8) {
  if (!(low > 0) || !(high >= low) || !finite(high)) return [];
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  if (last - first < 2 && base === 10) {
    const out = [];
    for (let e = first - 1; e <= last + 1; e++) {
      for (const m of [1, 2, 5]) out.push(Number((m * 10 ** e).toPrecision(6)));
    }
    const within = out.filter((v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9));
    return within.length > 1 ? within : ticks(low, high, Math.min(count, 4));
  }
  const every = Math.max(1, Math.ceil((last - first + 1) / count));
  const out = [];
  for (let e = first; e <= last; e += every) out.push(base ** e);
  return out;
}

/** numeric parses a value of an axis as a number: 4, 0.5, 64KiB. It returns null for other texts. */
export function numeric(text) {
  const found = /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(?:([KMGT])(i?)B?|B)?\s*$/i.exec(text ?? '');
  if (!found) return null;
  const power = found[2] ? 'KMGT'.indexOf(found[2].toUpperCase()) + 1 : 0;
  const value = Number(found[1]) * 1024 ** power;
  return finite(value) ? value : null;
}

/** shortened cuts the middle out of a text that is longer than so many letters. */
export function shortened(text, letters) {
  const all = [...text];
  if (all.length <= letters) return text;
  const kept = Math.max(2, letters - 1);
  return all.slice(0, Math.ceil(kept * 0.6)).join('') + '…' + all.slice(all.length - Math.floor(kept * 0.4)).join('');
}

/**
 * spread moves positions apart until each has enough room. It keeps their order, and keeps them between low and high
 * if they fit.
 */
export function spread(places, room, low, high) {
  const order = places.map((at, i) => ({ at, i })).sort((a, b) => a.at - b.at || a.i - b.i);
  const out = new Array(places.length);
  let next = low;
  for (const o of order) {
    o.at = Math.max(o.at, next);
    next = o.at + room;
  }
  let limit = high;
  for (const o of order.reverse()) {
    o.at = Math.min(o.at, limit);
    limit = o.at - room;
    out[o.i] = o.at;
  }
  return out;
}
