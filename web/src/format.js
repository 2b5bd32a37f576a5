// Numbers in readable form. A missing or non-finite number becomes a dash.

/** nothing is shown in place of a missing number. */
export const nothing = '–';

const minus = '−';

// as rounds a number to so many significant digits, but keeps all digits before the decimal point.
const as = (size, digits) => Number(size.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(Number(size.toPrecision(digits)))))));

/** there reports whether x is a finite number. */
export const there = (x) => typeof x === 'number' && Number.isFinite(x);

/**
 * number formats x with so many significant digits, but keeps all digits before the decimal point. It groups
 * thousands. It uses no exponent between 1e-4 and 1e12.
 */
export function number(x, digits = 4) {
  if (!there(x)) return nothing;
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e12) return x.toExponential(digits - 1).replace('e+', 'e').replaceAll('-', minus);
  const before = Math.floor(Math.log10(Number(size.toPrecision(digits))));
  const [whole, rest] = size.toFixed(Math.max(0, digits - 1 - before)).split('.');
  return (x < 0 ? minus : '') + grouped(whole) + (rest ? '.' + rest : '');
}

const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ',');

// Byte units from the smallest; each one is 1024 times the previous one.
const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** bytes formats a number of bytes. */
export function bytes(n) {
  if (!there(n)) return nothing;
  let i = 0;
  let x = n;
  while ((i === 0 ? Math.round(Math.abs(x)) : as(Math.abs(x), 3)) >= 1024 && i < byteUnits.length - 1) {
    x /= 1024;
    i++;
  }
  return `${i === 0 ? grouped(String(Math.round(x))) : number(x, 3)} ${byteUnits[i]}`;
}

// Each entry has a time unit, the number of such units in a millisecond, and the number from which the next unit is
// used.
const timeUnits = [[1e6, 'ns', 1000], [1000, 'µs', 1000], [1, 'ms', 1000], [0.001, 's', 120]];

/** duration formats milliseconds in a suitable unit. If rounding reaches the next unit, that unit is used. */
export function duration(ms) {
  if (!there(ms)) return nothing;
  const size = Math.abs(ms);
  if (size === 0) return '0 ms';
  for (const [each, unit, most] of timeUnits) {
    if (as(size * each, 3) < most) return `${number(ms * each, 3)} ${unit}`;
  }
  const [seconds, minutes] = [Math.round(size / 1000), Math.round(size / 60000)];
  const clock = seconds < 3600 ? [Math.floor(seconds / 60), 'min', seconds % 60, 's'] : [Math.floor(minutes / 60), 'h', minutes % 60, 'min'];
  return (ms < 0 ? minus : '') + clock.join(' ');
}

// These patterns forbid line breaks before units, between signs and numbers, and before the dash of a range.
const units = '(?:%|ns|µs|ms|s|min|h|(?:[kKMGT]i?)?B|GB/s|samples|runs?|cells?|cores?|trainers?|servers?|iterations?|comparisons?|values?|sizes?|more|others?)';
const within = [
  new RegExp(`(\\d) (?=${units}(?![\\p{L}\\d]))`, 'gu'),
  /([=<>±~]) (?=[\d−+])/g,
  /([^\s=]) (?=[=<>±][ \u00a0]?[\d−+])/g,
  /(\d) (?=– \d)/g,
];

/** held returns a sentence in which no line can break between a number and its unit. */
export const held = (text) => within.reduce((done, at) => done.replace(at, '$1\u00a0'), String(text));

/** quantity formats a value of a metric with its unit, using psbench's own unit names. */
export function quantity(value, unit) {
  if (!there(value)) return nothing;
  if (unit === 'B') return bytes(value);
  const text = number(value);
  return unit === '' || unit === 'share' || unit === 'loss' ? text : `${text} ${unit}`;
}

/** percent formats a relative change with its sign: 0.01 is +1.0 %. */
export function percent(x) {
  if (!there(x)) return nothing;
  const size = Math.abs(100 * x);
  const text = size < 99.95 ? size.toFixed(1) : number(size, 3);
  if (Number(text) === 0) return `${Number(size) === 0 ? '' : '±'}${text} %`;
  return `${x < 0 ? minus : '+'}${text} %`;
}

/** difference formats a change in the unit of a metric, with its sign. Changes of percentages are in points. */
export function difference(x, unit) {
  if (!there(x)) return nothing;
  return (x > 0 ? '+' : '') + quantity(x, unit === '%' ? 'points' : unit);
}

/**
 * changeText formats a change as a percentage, or as a difference if a percentage is meaningless. It is '' without a
 * change.
 */
export function changeText(c, unit) {
  if (c?.difference) return difference(c.difference.change, unit);
  return there(c?.change) ? percent(c.change) : '';
}

/** endsOf returns the ends of a change's interval, and the function that formats them. */
export function endsOf(c, unit) {
  return c?.difference ? [c.difference.low, c.difference.high, (x) => difference(x, unit)] : [c?.low, c?.high, percent];
}

/**
 * relative formats the change between two values as a percentage. It is '' if a percentage is meaningless, by the
 * rule of judge.Relative.
 */
export function relative(from, to) {
  return there(from) && there(to) && from > 0 && to >= 0 && to / from <= 100 ? percent(to / from - 1) : '';
}

/** spreadOf formats the spread of runs: as a share of the median, or in the metric's unit if a share is meaningless. */
export function spreadOf(e, unit) {
  return there(e.deviation) ? `± ${quantity(e.deviation, unit === '%' ? 'points' : unit)}` : share(e.spread);
}

/** share formats a part of a whole: 0.01 is 1.0 %. */
export function share(x) {
  return there(x) ? `${(100 * x).toFixed(1)} %` : nothing;
}

/** count formats a number of things: 1 run, 2 runs. */
export function count(n, noun) {
  return `${grouped(String(n))} ${noun}${n === 1 ? '' : 's'}`;
}
