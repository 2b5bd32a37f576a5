import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes, count, duration, number, percent, quantity, share } from './format.js';

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

table('bytes', bytes, [
  [[0], '0 B'],
  [[1023], '1,023 B'],
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
  [[null], '–'],
]);

table('share', share, [
  [[0.5], '50.0 %'],
  [[null], '–'],
]);

table('count', count, [
  [[1, 'run'], '1 run'],
  [[1200, 'run'], '1,200 runs'],
]);
