import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axesOf, collect } from './scaling.js';
import { empty, stateOf, study } from './testing.js';

const speed = ([hook, n]) => (hook === 'rpc' ? 1000 : 600) * Number(n) ** (hook === 'rpc' ? 0.5 : 1);
const of = (doc, own = {}, state = {}) => collect(doc, { ...stateOf(doc), ...state }, own);

test('a line for each group, with the medians of the document', () => {
  const doc = study({ speed });
  const data = of(doc);
  assert.equal(data.axis, 'trainers');
  assert.deepEqual(data.lines.map((l) => l.name), ['hook rpc', 'hook noop']);
  assert.deepEqual(data.lines[1].xs, [1, 2, 4, 8]);
  assert.deepEqual(data.lines[1].values, doc.judged.throughput.estimates.slice(4).map((e) => e.median));
  assert.deepEqual([data.log, data.logY], [true, true]);
});

test('the crossover is where the one passes the other', () => {
  const data = of(study({ speed }));
  assert.equal(data.crossings.length, 1);
  const [c] = data.crossings;
  assert.deepEqual([c.passes, c.passed, c.from, c.to, c.sure], ['hook noop', 'hook rpc', 2, 4, true]);
  assert.match(data.note, /Crossover: hook noop passes hook rpc between trainers 2 and 4, at about 2\.\d\./);
});

test('of a time the one that takes less passes the other', () => {
  const data = of(study({ speed }), {}, { metric: 'time_per_batch' });
  assert.equal(data.crossings[0].passes, 'hook noop');
  assert.equal(data.ideal.kind, 'constant');
  assert.deepEqual(data.ideal.lines[0].values, Array(4).fill(data.lines[0].values[0]));
});

test('without intervals one cannot tell', () => {
  const data = of(study({ speed, runs: 3 }));
  assert.deepEqual(data.crossings.map((c) => c.sure), [false]);
  assert.match(data.note, /Cannot tell whether hook noop passes hook rpc/);
});

test('the ideal is in proportion from the smallest', () => {
  const { ideal, lines } = of(study({ speed }));
  assert.equal(ideal.kind, 'proportional');
  assert.deepEqual(ideal.lines[0].values, lines[0].xs.map((x) => x * lines[0].values[0]));
});

test('axes of numbers and sizes alone are offered, in the order of their numbers', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], size: ['1MiB', '64KiB', '4KiB'], same: ['1', '1.0'] } });
  assert.deepEqual(axesOf(doc), [1]);
  assert.deepEqual(of(doc).lines[0].xs, [4096, 65536, 1048576]);
  assert.equal(of(doc, { axis: 'hook' }).axis, 'size');
});

test('the A/A cell, failed cells and single points are no part of lines', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], trainers: ['1', '2'] }, failed: ([h, n]) => h === 'noop' && n === '2' });
  doc.cells.push({ ...doc.cells[0], again: true });
  for (const m of doc.metrics) doc.judged[m.name].estimates.push(doc.judged[m.name].estimates[0]);
  assert.deepEqual(of(doc).lines.map((l) => [l.name, l.xs]), [['hook rpc', [1, 2]]]);
  assert.match(of(doc).note, / 1 cell failed and has no point here: /);
});

test('an axis whose other values failed gives way to one that has lines', () => {
  const doc = study({ axes: { rate: ['0.01', '1e30'], trainers: ['1', '2'] }, failed: ([rate]) => rate === '1e30' });
  assert.deepEqual([of(doc).axis, of(doc).axes, of(doc, { axis: 'rate' }).axis], ['trainers', ['trainers'], 'trainers']);
  assert.deepEqual(of(doc).lines.map((l) => l.xs), [[1, 2]]);
});

test('cells that have the runs of others make no line of their own', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], trainers: ['1', '2'] } });
  for (const i of [2, 3]) Object.assign(doc.cells[i], { same: i - 2, runs: [] });
  assert.deepEqual(of(doc).lines.map((l) => l.name), ['hook rpc']);
});

test('lines of several axes are named by their values, and it is said of what', () => {
  const data = of(study({ axes: { hook: ['rpc', 'noop'], server: ['average', 'sum'], trainers: ['1', '2'] } }));
  assert.deepEqual(data.lines.map((l) => l.name), ['rpc · average', 'rpc · sum', 'noop · average', 'noop · sum']);
  assert.match(data.note, /^Lines are named by hook · server\./);
});

test('nothing to draw', () => {
  for (const doc of [empty(), study({ axes: { hook: ['rpc', 'noop'] } }), study({ failed: () => true }), study({ axes: {} })]) assert.equal(of(doc), null);
});

test('lines are named by what differs between them', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], model: ['small', 'large'], trainers: ['1', '2', '4'] } });
  assert.deepEqual(of(doc).lines.map((l) => l.name), ['rpc · small', 'rpc · large', 'noop · small', 'noop · large']);
  const filtered = collect(doc, { ...stateOf(doc), filter: { model: ['large'] } }, {});
  assert.deepEqual(filtered.lines.map((l) => l.name), ['hook rpc', 'hook noop']);
});
