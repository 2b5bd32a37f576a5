// Numbers as people read them. What is not there is a dash; a number that is not finite is not there.

/** nothing stands where there is no number. */
export const nothing = '–';

const minus = '−';

// as is a number as its text has it, with so many significant digits, but all those before the point.
const as = (size, digits) => Number(size.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(Number(size.toPrecision(digits)))))));

/** there says whether x is a number that can be shown. */
export const there = (x) => typeof x === 'number' && Number.isFinite(x);

/**
 * number shows x with so many significant digits, but all those before the point, thousands grouped, and
 * no exponent between 1e-4 and 1e12.
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

// Units of a step of 1024 or 1000, from the smallest.
const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** bytes shows a number of bytes. */
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

// Units of time: how many there are in a millisecond, and from which number on the next one is taken.
const timeUnits = [[1e6, 'ns', 1000], [1000, 'µs', 1000], [1, 'ms', 1000], [0.001, 's', 120]];

/** duration shows milliseconds in the unit that suits them. What is rounded up to a unit has that unit. */
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

// What stands behind its number; and where no line ends: before these, around signs before a number, before the dash of a range.
const units = '(?:%|ns|µs|ms|s|min|h|(?:[kKMGT]i?)?B|GB/s|samples|runs?|cells?|cores?|trainers?|servers?|iterations?|comparisons?|values?|sizes?|more|others?)';
const within = [
  new RegExp(`(\\d) (?=${units}(?![\\p{L}\\d]))`, 'gu'),
  /([=<>±~]) (?=[\d−+])/g,
  /([^\s=]) (?=[=<>±][ \u00a0]?[\d−+])/g,
  /(\d) (?=– \d)/g,
];

/** held is a sentence in which no line ends between a number and its unit. */
export const held = (text) => within.reduce((done, at) => done.replace(at, '$1\u00a0'), String(text));

/** quantity shows a value of a metric with its unit, as psbench metrics has it. */
export function quantity(value, unit) {
  if (!there(value)) return nothing;
  if (unit === 'B') return bytes(value);
  const text = number(value);
  return unit === '' || unit === 'share' || unit === 'loss' ? text : `${text} ${unit}`;
}

/** percent shows a relative change with its sign: 0.01 is +1.0 %. */
export function percent(x) {
  if (!there(x)) return nothing;
  const size = Math.abs(100 * x);
  const text = size < 99.95 ? size.toFixed(1) : number(size, 3);
  if (Number(text) === 0) return `${Number(size) === 0 ? '' : '±'}${text} %`;
  return `${x < 0 ? minus : '+'}${text} %`;
}

/** difference shows a change in the unit of a metric, with its sign; shares differ by points. */
export function difference(x, unit) {
  if (!there(x)) return nothing;
  return (x > 0 ? '+' : '') + quantity(x, unit === '%' ? 'points' : unit);
}

/** changeText is a change as it is told: a percentage, or a difference where no percentage tells anything; '' without one. */
export function changeText(c, unit) {
  if (c?.difference) return difference(c.difference.change, unit);
  return there(c?.change) ? percent(c.change) : '';
}

/** endsOf are the ends of the interval of a change, and how they are shown. */
export function endsOf(c, unit) {
  return c?.difference ? [c.difference.low, c.difference.high, (x) => difference(x, unit)] : [c?.low, c?.high, percent];
}

/** relative is the change from one value to another as a percentage, '' where none tells anything: as judge.Relative has it. */
export function relative(from, to) {
  return there(from) && there(to) && from > 0 && to >= 0 && to / from <= 100 ? percent(to / from - 1) : '';
}

/** spreadOf is how far runs are apart: a share of the median, or in the unit of the metric where none tells anything. */
export function spreadOf(e, unit) {
  return there(e.deviation) ? `± ${quantity(e.deviation, unit === '%' ? 'points' : unit)}` : share(e.spread);
}

/** share shows a part of a whole: 0.01 is 1.0 %. */
export function share(x) {
  return there(x) ? `${(100 * x).toFixed(1)} %` : nothing;
}

/** count shows a number of things: 1 run, 2 runs. */
export function count(n, noun) {
  return `${grouped(String(n))} ${noun}${n === 1 ? '' : 's'}`;
}
