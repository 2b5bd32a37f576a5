import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { baselines, floorOf, isBaseline, metricOf, namedBy, nameOf, neededCount, neededOf, passes, reasonOf, rowsOf, shortOf, single, toldOf, unofferedOf, valueTold, withinOf } from './cells.js';
import { initial } from './state.js';

const doc = JSON.parse(readFileSync(new URL('../testdata/study.json', import.meta.url)));
const places = (patch) => rowsOf(doc, { ...initial(doc), ...patch }).map((row) => row.at);
const without = [3, 5, 7]; // failed, skipped, same

test('all cells have a row, in the order of the study', () => {
  assert.deepEqual(places({}), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('cells without a value stay, last, whichever way is sorted', () => {
  for (const column of ['median', 'change']) {
    for (const down of [false, true]) {
      const order = places({ sort: { column, down } });
      assert.equal(order.length, 9);
      assert.deepEqual(order.slice(6), without, `${column} ${down}`);
    }
  }
});

test('medians are sorted as numbers', () => {
  const medians = (down) => rowsOf(doc, { ...initial(doc), sort: { column: 'median', down } }).slice(0, 6).map((row) => row.estimate.median);
  const up = medians(false);
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  assert.deepEqual(medians(true), [...up].reverse());
});

test('values of an axis are in the order in which they were given', () => {
  const cells = ['10', '2', '10', '1'].map((v) => ({ name: v, values: [v], runs: [], shorts: [] }));
  const d = { axes: [{ name: 'ntrainer', values: ['2', '10'] }], cells, judged: {} };
  assert.deepEqual(
    rowsOf(d, { metric: 'm', baseline: 0, filter: {}, sort: { column: 'axis:0', down: false } }).map((r) => r.cell.name),
    ['2', '10', '10', '1'],
  );
});

test('a filter lets through what has one of the values on each axis that it names', () => {
  assert.deepEqual(places({ filter: { server: ['average_batch'] } }), [4, 5, 6, 7]);
  assert.deepEqual(places({ filter: { server: ['average_batch'], ddp_hook: ['rpc', 'noop'] } }), [4, 6]);
  assert.deepEqual(places({ filter: { server: [] } }), []);
});

test('an axis may be named as what every object has', () => {
  for (const name of ['__proto__', 'constructor']) {
    const d = { axes: [{ name, values: ['1', '2'] }] };
    assert.equal(passes(d, {}, { values: ['1'] }), true);
    assert.equal(passes(d, { [name]: ['2'] }, { values: ['1'] }), false);
    assert.equal(passes(d, { [name]: ['2'] }, { values: ['2'] }), true);
  }
});

test('another baseline has other changes', () => {
  const change = (baseline) => rowsOf(doc, { ...initial(doc), baseline })[1].change;
  assert.equal(change(1), null);
  assert.notEqual(change(0).change, change(2).change);
  assert.deepEqual(baselines(doc, 'throughput'), [0, 1, 2, 4, 6, 8]);
  assert.deepEqual(baselines(doc, 'unknown'), []);
});

test('what is not done says why', () => {
  const reasons = rowsOf(doc, initial(doc)).map(reasonOf);
  assert.match(reasons[3], /^6 failed: server1 died by signal 9/);
  assert.match(reasons[4], /^1 failed: trainer1: no gradient/);
  assert.match(reasons[5], /^hook noop exchanges nothing/);
  assert.match(reasons[7], /^the same experiment as average · allreduce, whose/);
  assert.equal(reasons[0], '');
});

test('needed runs are told where the runs cannot tell', () => {
  assert.equal(neededOf({ verdict: 'cannot tell', needed: 45 }), '45 runs would tell');
  assert.equal(neededOf({ verdict: 'cannot tell', needed: 1001 }), 'a proof is not within reach');
  assert.equal(neededOf({ verdict: 'better', needed: 45 }), '');
  assert.equal(neededOf({ verdict: 'cannot tell', needed: 0 }), '');
  assert.equal(neededOf(null), '');
  assert.equal(neededCount({ verdict: 'cannot tell', needed: 45 }), 45);
  assert.equal(neededCount({ verdict: 'cannot tell', needed: 1001 }), 'not within reach');
  assert.equal(neededCount({ verdict: 'better', needed: 0 }), null);
  assert.equal(neededCount(null), null);
});

test('a metric that no run has is no error', () => {
  assert.equal(metricOf(doc, { metric: 'nothing' }).name, 'nothing');
  assert.equal(rowsOf(doc, { ...initial(doc), metric: 'nothing' }).length, 9);
});

test('every cell has a name of its own, the A/A cell too', () => {
  assert.equal(doc.cells[8].name, doc.cells[0].name);
  assert.equal(nameOf(doc, 8), 'server=average ddp_hook=rpc, again');
  assert.equal(new Set(doc.cells.map((_, i) => nameOf(doc, i))).size, doc.cells.length);
  assert.equal(nameOf(doc, 99), '');
});

test('the floor is that of the metric, and of the baseline of the study', () => {
  const state = initial(doc);
  assert.match(floorOf(doc, state), /^2\.1 % of the throughput: .* cases$/);
  assert.match(floorOf(doc, { ...state, metric: 'time_per_batch' }), /^2\.1 % of the time_per_batch: /);
  assert.match(floorOf(doc, { ...state, baseline: 2 }), /; it is that of average · rpc, the baseline of the study$/);
  assert.equal(floorOf(doc, { ...state, metric: 'nothing', baseline: 2 }), '');
});

test('cells with runs that are no baseline are left out; the A/A cell and those without runs never were one', () => {
  assert.deepEqual(unofferedOf(doc, 'throughput'), []);
  const few = { ...doc, judged: { throughput: { against: { 0: [] } } } };
  assert.deepEqual(unofferedOf(few, 'throughput'), [1, 2, 4, 6]);
});

test('within sizes a baseline is one at each size', () => {
  const cells = ['shm', 'tcp'].flatMap((transport) => ['4096', '1000'].map((size) => ({ name: `transport=${transport} bytes=${size}`, values: [transport, size], runs: [0] })));
  const sized = { ...doc, axes: [{ name: 'transport', values: ['shm', 'tcp'] }, { name: 'bytes', values: ['4096', '1000'] }], cells, within: 'bytes' };
  const [a, b] = [0, 3].map((baseline) => cells.map((_, at) => isBaseline(sized, baseline, at)));
  assert.deepEqual([a, b], [[true, true, false, false], [false, false, true, true]]);
  assert.deepEqual(cells.map((_, at) => isBaseline({ ...sized, within: '' }, 0, at)), [true, false, false, false]);
  assert.deepEqual(cells.map((_, at) => shortOf(sized, at)), ['shm · 4 KiB', 'shm · 1,000 B', 'tcp · 4 KiB', 'tcp · 1,000 B']);
  assert.equal(shortOf(sized, 3, withinOf(sized)), 'transport tcp');
  assert.equal(namedBy(sized), 'transport · bytes');
});

test('a document of one run has no cells to speak of', () => {
  const cell = { runs: [0], failed: [], waiting: 0 };
  assert.equal(single({ cells: [cell] }), true);
  assert.equal(single({ cells: [{ runs: [], failed: [{}], waiting: 0 }] }), true);
  for (const cells of [[], [cell, cell], [{ ...cell, runs: [0, 1] }], [{ ...cell, waiting: 1 }], [{ ...cell, runs: [] }]]) assert.equal(single({ cells }), false);
});

test('in a sentence numbers have their axis', () => {
  const made = { axes: [{ name: 'ntrainer', values: ['1', '2'] }, { name: 'server', values: ['average', 'sum'] }, { name: 'lr', values: ['0.1', '-1'] }, { name: 'sparse', values: ['true', 'false'] }], cells: [{ name: '', values: ['2', 'average', '-1', 'true'], again: true }] };
  assert.equal(toldOf(made, 0), 'ntrainer 2 · average · lr -1 · sparse true, again');
  assert.equal(shortOf(made, 0), '2 · average · -1 · true, again');
  assert.equal(toldOf(made, 0, 0, 1, 3), 'lr -1, again');
  assert.deepEqual([valueTold(made, 0, '2'), valueTold(made, 1, 'sum')], ['ntrainer 2', 'sum']);
});
