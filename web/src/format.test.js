import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { random } from './pictures/testing.js';
import { bytes, changeText, count, duration, held, number, percent, quantity, relative, share, spreadOf } from './format.js';

const table = (name, fn, cases) =>
  test(name, () => {
    for (const [args, want] of cases) assert.equal(fn(...args), want, `${name}(${args})`);
  });

table('number', number, [
  [[0], '0'],
  [[null], '–'],
  [[NaN], '–'],
  [[Infinity], '–'],
  [[1], '1.000'],
  [[12.345], '12.35'],
  [[9.99996], '10.00'],
  [[1234.4], '1,234'],
  [[99999], '99,999'],
  [[1234567], '1,234,567'],
  [[-0.01234], '−0.01234'],
  [[0.00001], '1.000e−5'],
  [[1e13], '1.000e13'],
]);

// The Go package internal/screen has the same rules for the terminal.
const numbers = JSON.parse(readFileSync(new URL('../testdata/numbers.json', import.meta.url), 'utf8'));
table('number', number, numbers.map(({ value, text }) => [[value], text]));

table('bytes', bytes, [
  [[0], '0 B'],
  [[1023], '1,023 B'],
  [[1023.6], '1.00 KiB'],
  [[1023.7 * 1024], '1.00 MiB'],
  [[1024], '1.00 KiB'],
  [[25 * 1024 * 1024], '25.0 MiB'],
  [[undefined], '–'],
]);

table('duration', duration, [
  [[0], '0 ms'],
  [[0.0005], '500 ns'],
  [[0.0123], '12.3 µs'],
  [[12.34], '12.3 ms'],
  [[4567], '4.57 s'],
  [[125000], '2 min 5 s'],
  [[7260000], '2 h 1 min'],
  [[999.6], '1.00 s'],
  [[0.9996], '1.00 ms'],
  [[999.4], '999 ms'],
  [[119.6e3], '2 min 0 s'],
  [[3599.6e3], '1 h 0 min'],
  [[7199e3], '2 h 0 min'],
  [[-999.6], '−1.00 s'],
  [[-3], '−3.00 ms'],
]);

table('quantity', quantity, [
  [[12.345, 'ms'], '12.35 ms'],
  [[0.8123, 'share'], '0.8123'],
  [[0.8123, 'loss'], '0.8123'],
  [[2048, 'B'], '2.00 KiB'],
  [[null, 'ms'], '–'],
]);

table('percent', percent, [
  [[0.0123], '+1.2 %'],
  [[-0.5], '−50.0 %'],
  [[0], '0.0 %'],
  [[0.0001], '±0.0 %'],
  [[1.5], '+150 %'],
  [[25], '+2,500 %'],
  [[9.996], '+1,000 %'],
  [[0.9996], '+100 %'],
  [[null], '–'],
]);

table('changeText', changeText, [
  [[{ change: 0.0123 }, 'ms'], '+1.2 %'],
  [[{ change: null, difference: { change: 2.5 } }, 'ms'], '+2.500 ms'],
  [[{ change: null, difference: { change: -2.5 } }, '%'], '−2.500 points'],
  [[{ change: null, difference: { change: 0 } }, 'loss'], '0'],
  [[{ change: null }, 'ms'], ''],
  [[null, 'ms'], ''],
]);

table('relative', relative, [
  [[2, 3], '+50.0 %'],
  [[2, 0], '−100 %'],
  [[0, 3], ''],
  [[1e-9, 3], ''],
  [[-1, 3], ''],
  [[1, -3], ''],
  [[null, 3], ''],
]);

table('spreadOf', spreadOf, [
  [[{ spread: 0.02 }, 'ms'], '2.0 %'],
  [[{ spread: 12, deviation: 0.5 }, '%'], '± 0.5000 points'],
]);

table('share', share, [
  [[0.5], '50.0 %'],
  [[null], '–'],
]);

table('count', count, [
  [[1, 'run'], '1 run'],
  [[1200, 'run'], '1,200 runs'],
]);

// units maps time units to milliseconds. The function said parses a printed duration.
const units = { ns: 1e-6, 'µs': 1e-3, ms: 1, s: 1000, min: 60e3, h: 3600e3 };
function said(text) {
  const parts = [...text.matchAll(/([\d,.]+) (\S+)/g)].map(([, n, unit]) => ({ n: Number(n.replaceAll(',', '')), text: n, unit }));
  return { parts, ms: parts.reduce((sum, p) => sum + p.n * units[p.unit], 0) };
}

test('no duration has a number that is one of the next unit, and none is less than a shorter one', () => {
  const rnd = random(11);
  const most = { ns: 1000, 'µs': 1000, ms: 1000, s: 120, min: 60, h: Infinity };
  const times = [];
  for (const border of [1e-3, 1, 1000, 60e3, 120e3, 3600e3, 7200e3]) {
    for (let i = 0; i < 400; i++) times.push(border * (1 + (rnd() - 0.5) * 10 ** (-1 - 5 * rnd())));
  }
  for (let i = 0; i < 1000; i++) times.push(10 ** (-6 + 13 * rnd()));
  let before = 0;
  for (const ms of times.sort((a, b) => a - b)) {
    const text = duration(ms);
    const { parts, ms: shown } = said(text);
    for (const p of parts) {
      assert.ok(p.n < (parts.length > 1 && p.unit === 's' ? 60 : most[p.unit]), `${ms} ms is ${text}`);
      assert.ok(!p.text.includes(','), `${ms} ms is ${text}`);
    }
    assert.ok(Math.abs(shown - ms) <= (parts.length > 1 ? 0.5001 * units[parts[1].unit] : 0.00501 * ms), `${ms} ms is ${text}`);
    assert.ok(shown >= before * (1 - 1e-12), `${ms} ms is ${text}, less than what is shorter`);
    before = shown;
  }
});

test('no line ends between a number and its unit', () => {
  for (const [text, want] of [
    ['leads with 469.5 samples/s (95 % interval 431.0 – 498.0, 10 runs)', 'leads with 469.5_samples/s (95_% interval 431.0_– 498.0, 10_runs)'],
    ['(−2.3 % over the first, p = 0.496)', '(−2.3_% over the first, p_=_0.496)'],
    ['p < 0.001 adjusted for 3 comparisons', 'p_<_0.001 adjusted for 3_comparisons'],
    ['took 6 % (0.15 of 2.42 s): measure', 'took 6_% (0.15 of 2.42_s): measure'],
    ['in 95 of 100 cases, 8 sides, a - 3 b', 'in 95 of 100 cases, 8 sides, a - 3 b'],
    ['give --nserver 0 to run', 'give --nserver 0 to run'],
  ]) assert.equal(held(text), want.replaceAll('_', '\u00a0'));
});
