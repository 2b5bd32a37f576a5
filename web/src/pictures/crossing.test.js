import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crossings, idealLine, idealOf } from './crossing.js';

// line returns a line whose intervals are the values plus or minus by.
const line = (xs, values, by = 1) => ({ xs, values, lows: values.map((v) => (by === null || v === null ? null : v - by)), highs: values.map((v) => (by === null || v === null ? null : v + by)) });

test('lines that surely change places cross between the points where they do', () => {
  const [c, ...more] = crossings(line([1, 2], [10, 20]), line([1, 2], [20, 10]));
  assert.deepEqual(c, { from: 1, to: 2, at: 1.5, value: 15, sure: true, ahead: -1 });
  assert.deepEqual(more, []);
});

test('on an axis of logarithms they cross in the middle of the ratio', () => {
  const [c] = crossings(line([1, 4], [10, 20]), line([1, 4], [20, 10]), true);
  assert.ok(Math.abs(c.at - 2) < 1e-12);
});

test('where both axes are logarithms it is where the drawn lines meet', () => {
  const [c] = crossings(line([1, 4], [10, 40]), line([1, 4], [20, 20]), true, true);
  assert.ok(Math.abs(c.at - 2) < 1e-12 && Math.abs(c.value - 20) < 1e-9);
});

test('what nobody can tell in between does not hide a crossing', () => {
  const [c, ...more] = crossings(line([1, 2, 4], [10, 15, 20]), line([1, 2, 4], [20, 15.5, 10]));
  assert.deepEqual([c.from, c.to, c.sure, c.ahead], [1, 4, true, -1]);
  assert.ok(c.at > 2 && c.at < 4);
  assert.deepEqual(more, []);
});

test('medians on a par at the one point where lines meet are a crossing too', () => {
  const [c] = crossings(line([1, 2, 4], [10, 15, 20]), line([1, 2, 4], [20, 15, 10]));
  assert.deepEqual([c.from, c.to, c.sure], [1, 4, true]);
});

test('where intervals overlap on one side, or are missing, one cannot tell', () => {
  for (const [name, a, b] of [
    ['overlap after', line([1, 2], [10, 15.2]), line([1, 2], [20, 15])],
    ['overlap before', line([1, 2], [15, 20]), line([1, 2], [15.4, 10])],
    ['no intervals', line([1, 2], [10, 20], null), line([1, 2], [20, 10], null)],
    ['no interval of one', line([1, 2], [10, 20]), line([1, 2], [20, 10], null)],
  ]) {
    assert.deepEqual(crossings(a, b).map((c) => c.sure), [false], name);
  }
});

test('medians that change places more than once in the noise are one doubt', () => {
  const found = crossings(line([1, 2, 3, 4], [10, 10, 10, 10]), line([1, 2, 3, 4], [10.1, 9.9, 10.1, 9.9]));
  assert.deepEqual(found.map((c) => [c.from, c.to, c.sure]), [[1, 4, false]]);
});

test('lines that do not cross, that touch, that share no points', () => {
  assert.deepEqual(crossings(line([1, 2], [10, 20]), line([1, 2], [20, 30])), []);
  assert.deepEqual(crossings(line([1, 2, 3], [10, 20, 10]), line([1, 2, 3], [30, 20, 30])), []);
  assert.deepEqual(crossings(line([1, 2], [10, 20]), line([3, 4], [20, 10])), []);
  assert.deepEqual(crossings(line([1, 2], [10, null]), line([1, 2], [20, 5])), []);
  assert.deepEqual(crossings(line([], []), line([], [])), []);
});

test('twice there and back are two crossings', () => {
  const found = crossings(line([1, 2, 3], [10, 20, 10]), line([1, 2, 3], [15, 15, 15]));
  assert.deepEqual(found.map((c) => [c.from, c.to, c.sure, c.ahead]), [[1, 2, true, -1], [2, 3, true, 1]]);
});

test('rates grow in proportion, times stay, and nothing else has an ideal', () => {
  const rate = { unit: 'samples/s', better: 'higher' };
  assert.equal(idealOf(rate, 'trainers').kind, 'proportional');
  assert.equal(idealOf(rate, 'model.batch_size').kind, 'proportional');
  assert.equal(idealOf({ unit: 'ms', better: 'lower' }, 'ntrainer').kind, 'constant');
  assert.equal(idealOf(rate, 'servers'), null);
  assert.equal(idealOf({ unit: '%', better: 'higher' }, 'trainers'), null);
  assert.equal(idealOf({ unit: 'loss', better: 'lower' }, 'trainers'), null);
});

test('an ideal line starts at the smallest point that was measured', () => {
  assert.deepEqual(idealLine('proportional', line([1, 2, 8], [100, 150, 400])), { xs: [1, 2, 8], values: [100, 200, 800] });
  assert.deepEqual(idealLine('proportional', line([1, 2, 8], [null, 150, 400])), { xs: [2, 8], values: [150, 600] });
  assert.deepEqual(idealLine('constant', line([1, 2], [5, 6])), { xs: [1, 2], values: [5, 5] });
  assert.equal(idealLine('proportional', line([0, 2], [5, 6])), null);
  assert.equal(idealLine('constant', line([1], [null])), null);
});
