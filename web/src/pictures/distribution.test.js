import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, quantile } from './distribution.js';
import { empty, stateOf, study } from './testing.js';

test('lines are the quantiles of the median run', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] } });
  const data = collect(doc, { ...stateOf(doc), chosen: [1] });
  const { quantiles } = doc.details[doc.cells[1].median];
  assert.deepEqual(data.lines.map((l) => l.name), ['hook=noop']);
  assert.deepEqual(data.lines[0].ms, quantiles);
  assert.deepEqual([data.lines[0].shares[0], data.lines[0].shares[100], data.lines[0].shares[200]], [0, 0.5, 1]);
  assert.deepEqual(data.lines[0].marks.map((m) => [m.name, m.ms]), [['p50', quantiles[100]], ['p95', quantiles[190]], ['p99', quantiles[198]]]);
});

test('of few iterations there are no high quantiles', () => {
  const doc = study({ axes: {}, iterations: 30 });
  const data = collect(doc, stateOf(doc));
  assert.deepEqual(data.lines[0].marks.map((m) => m.name), ['p50', 'p95']);
  assert.match(data.note, /p99 needs 100/);
});

test('quantiles between two', () => {
  assert.equal(quantile([1, 2, 3], 0.25), 1.5);
  assert.equal(quantile([1, 2, 3], 1), 3);
  assert.equal(quantile([7], 0.5), 7);
});

test('a few long iterations are beyond the edge, and it is said', () => {
  const doc = study({ axes: {}, runs: 1 });
  doc.details[0].quantiles = [...Array.from({ length: 200 }, (_, i) => 20 + i / 100), 900];
  const data = collect(doc, stateOf(doc));
  assert.ok(data.cut < 23 && data.cut > data.lines[0].marks[2].ms);
  assert.match(data.note, /The longest took 900 ms and is beyond the edge/);
});

test('of 100 cells the first are drawn, and it is said', () => {
  const doc = study({ axes: { n: Array.from({ length: 100 }, (_, i) => String(i)) }, runs: 1 });
  assert.match(collect(doc, stateOf(doc)).note, /92 more cells are not shown/);
});

test('nothing to draw', () => {
  for (const doc of [empty(), study({ failed: () => true }), study({ axes: {}, iterations: 0 })]) assert.equal(collect(doc, stateOf(doc)), null);
});
