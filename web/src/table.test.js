import assert from 'node:assert/strict';
import test from 'node:test';
import { place, scaleOf } from './interval.js';
import { fit } from './controls.js';
import { next } from './table.js';

test('a column is sorted best first, then the other way, then not at all', () => {
  const column = { id: 'median', downFirst: true };
  let sort = { column: 'order', down: false };
  const seen = [];
  for (let i = 0; i < 3; i++) seen.push((sort = next(sort, column)));
  assert.deepEqual(seen, [{ column: 'median', down: true }, { column: 'median', down: false }, { column: 'order', down: false }]);
  assert.deepEqual(next({ column: 'median', down: true }, { id: 'axis:0' }), { column: 'axis:0', down: false });
});

test('the scale of changes has zero and all that is bounded', () => {
  const scale = scaleOf([null, { change: 0.1, low: 0.05, high: 0.2 }, { change: 0.3, low: null, high: null }]);
  assert.ok(place(scale, 0) > 0 && place(scale, 0) < 10);
  assert.ok(place(scale, 0.3) > 86 && place(scale, 0.3) < 96);
  assert.equal(place(scale, -5), 0);
  assert.equal(place(scale, 5), 96);
  const wide = scaleOf([{ change: 1 }, { change: -0.5 }]);
  assert.ok(Math.abs(place(wide, 1) + place(wide, -0.5) - 2 * place(wide, 0)) < 1e-9);
  const nothing = scaleOf([]);
  assert.ok(nothing.high > nothing.low);
});

test('a baseline without a value gives way to the first that has one', () => {
  const doc = { cells: [{}, {}, {}], judged: { loss: { against: { 1: [], 2: [] } } } };
  assert.equal(fit(doc, 'loss', 0), 1);
  assert.equal(fit(doc, 'loss', 2), 2);
  assert.equal(fit(doc, 'unknown', 0), 0);
});
