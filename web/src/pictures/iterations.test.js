import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, cutAt, intervalsOf, middle } from './iterations.js';
import { empty, stateOf, study } from './testing.js';

const own = { cell: '', run: 'median' };

test('lanes have the spans of the document', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, ranks: 3 });
  const data = collect(doc, { ...stateOf(doc), chosen: [1] }, own);
  const detail = doc.details[doc.cells[1].median];
  assert.equal(data.name, 'hook=noop');
  assert.equal(data.lanes.length, 3);
  assert.deepEqual(data.lanes[2].min_ms, detail.lanes[2].min_ms);
  assert.deepEqual(data.lanes[2].seconds, detail.lanes[2].seconds);
  assert.match(data.note, /A step spans up to 2 iterations, from the shortest to the longest of them\./);
  assert.equal(data.median_ms, detail.quantiles[100]);
  assert.ok(data.lanes.every((l) => l.median_ms === null), 'spans do not tell the median of a lane');
});

test('the worst run, and any cell, can be chosen', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] } });
  const data = collect(doc, stateOf(doc), { cell: '1', run: 'worst' });
  assert.equal(data.folder, doc.runs[doc.details[doc.cells[1].worst].run].folder);
  assert.equal(data.both, true);
  assert.deepEqual(data.cells.map((c) => c.label), ['hook=rpc', 'hook=noop']);
});

test('of the chosen cells the baseline is shown, else the first', () => {
  const doc = study({ axes: { n: ['1', '2', '3'] } });
  const shown = (state) => collect(doc, { ...stateOf(doc), ...state }, own).cell;
  assert.deepEqual([shown({}), shown({ chosen: [1, 2] }), shown({ chosen: [0, 1, 2], baseline: 2 }), shown({ chosen: [], baseline: 1 })], [0, 1, 2, 1]);
});

test('where nothing was left out it says so, and one run is median and worst', () => {
  const doc = study({ axes: {}, runs: 1 });
  for (const lane of doc.details[0].lanes) lane.each = 1;
  const data = collect(doc, stateOf(doc), own);
  assert.match(data.note, /Every iteration is drawn\./);
  assert.equal(data.both, false);
});

test('few long iterations do not make all others look alike, a step does not count as few', () => {
  const usual = Array.from({ length: 201 }, (_, i) => 20 + i / 200);
  assert.equal(cutAt(usual, 20, 21), 21);
  const spikes = [...usual.slice(0, 200), 90];
  assert.ok(cutAt(spikes, 20, 90) < 23);
  const step = usual.map((v, i) => (i > 160 ? v + 5 : v));
  assert.equal(cutAt(step, 20, 26), 26);
  assert.equal(cutAt([], 20, 90), 90);
});

test('what others took is a share of all cores, from the measured pass on', () => {
  const noise = [
    { name: 'before', duration_ns: 5e9 },
    { name: 'measured', duration_ns: 2e9, machine: { cores: 4, others_ns: 6e8, steal_ns: 2e8 } },
    { name: 'after', duration_ns: 1e9 },
  ];
  assert.deepEqual(intervalsOf(noise), [
    { name: 'measured', from: 0, to: 2, share: 0.1 },
    { name: 'after', from: 2, to: 3, share: null },
  ]);
  assert.deepEqual(intervalsOf([]), []);
});

test('64 ranks, no ranks, no iterations', () => {
  const doc = study({ axes: {}, ranks: 64, runs: 1 });
  assert.equal(collect(doc, stateOf(doc), own).lanes.length, 64);
  assert.equal(collect(empty(), stateOf(empty()), own), null);
  const none = study({ axes: {}, ranks: 0, runs: 1 });
  assert.equal(collect(none, stateOf(none), own), null);
  const short = study({ axes: {}, iterations: 0, runs: 1 });
  assert.equal(collect(short, stateOf(short), own), null);
});

test('medians', () => {
  assert.equal(middle([3, 1, 2]), 2);
  assert.equal(middle([4, 1, 2, 3]), 2.5);
  assert.equal(middle([]), null);
});
