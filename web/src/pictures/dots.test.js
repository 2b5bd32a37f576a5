import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as dots from './dots.js';
import { empty, stateOf, study } from './testing.js';

test('rows have the runs, the median and its interval as the document has them', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, speed: ([hook]) => (hook === 'rpc' ? 1000 : 1300) });
  const data = dots.collect(doc, stateOf(doc));
  assert.equal(data.metric.unit, 'samples/s');
  assert.deepEqual(data.rows.map((r) => r.name), ['hook=rpc', 'hook=noop']);
  assert.deepEqual(data.rows[0].runs.map((r) => r.value), doc.runs.filter((r) => r.cell === 0).map((r) => r.values.throughput));
  const { median, low, high } = doc.judged.throughput.estimates[1];
  assert.deepEqual([data.rows[1].median, data.rows[1].low, data.rows[1].high], [median, low, high]);
  assert.equal(data.rows[1].verdict, 'better');
  assert.deepEqual(data.baseline, { cell: 0, name: 'hook=rpc', median: doc.judged.throughput.estimates[0].median });
  assert.match(data.note, /noise floor: ± 2\.1 %/);
});

test('a failed cell has a row that says why', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, failed: ([hook]) => hook === 'noop' });
  const row = dots.collect(doc, stateOf(doc)).rows[1];
  assert.equal(row.why, 'failed: trainer1 ended with exit status 3');
  assert.deepEqual(row.runs, []);
});

test('with too few runs there is no interval', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, runs: 1 });
  const [row] = dots.collect(doc, stateOf(doc)).rows;
  assert.deepEqual([row.runs.length, row.low, row.high], [1, null, null]);
});

test('one run has no picture: one dot shows nothing', () => {
  const doc = study({ axes: {}, runs: 1 });
  assert.equal(dots.collect(doc, stateOf(doc)), null);
});

test('filters leave out rows, and another metric has other values', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], trainers: ['1', '2'] } });
  const data = dots.collect(doc, { ...stateOf(doc), metric: 'time_per_batch', filter: { hook: ['noop'] } });
  assert.deepEqual(data.rows.map((r) => r.name), ['hook=noop trainers=1', 'hook=noop trainers=2']);
  assert.equal(data.rows[0].runs[0].value, doc.runs[12].values.time_per_batch);
});

test('of nothing, and of failures alone, there is no picture', () => {
  for (const doc of [empty(), study({ failed: () => true })]) {
    assert.equal(dots.shows(doc, stateOf(doc)), false);
    assert.equal(dots.reserves(doc, stateOf(doc), 800), 0);
  }
});

test('values that are no numbers are left out', () => {
  const doc = study({ axes: {}, runs: 3 });
  doc.runs[1].values.throughput = null;
  doc.runs[2].values.throughput = NaN;
  assert.equal(dots.collect(doc, stateOf(doc)).rows[0].runs.length, 1);
});

test('values far apart are on a scale of logarithms, unless one is not above 0', () => {
  const of = (...speeds) => {
    const doc = study({ axes: { n: speeds.map((_, i) => String(i)) }, speed: ([n]) => speeds[n] });
    return dots.collect(doc, stateOf(doc)).log;
  };
  assert.equal(of(10, 100000), true);
  assert.equal(of(10, 20), false);
  assert.equal(of(0, 1000), false);
});

test('a cell that has the runs of another one says so', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] } });
  Object.assign(doc.cells[1], { same: 0, runs: [] });
  const row = dots.collect(doc, stateOf(doc)).rows[1];
  assert.equal(row.same, 'hook=rpc');
  assert.equal(row.short, 'hook noop, =');
  assert.equal(row.runs.length, 6);
});

test('why there are no runs stands below, each reason once and in full', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop', 'sparse'] }, failed: ([hook]) => hook !== 'rpc' });
  const reason = 'trainer1 died: it was killed, and what it says of that is longer than a row of the picture has room for';
  for (const at of [1, 2]) doc.cells[at].reason = reason;
  const { note, rows } = dots.collect(doc, stateOf(doc));
  assert.ok(note.endsWith(`Failed (hook noop; hook sparse): ${reason}.`), note);
  assert.equal(rows[1].why, `failed: ${reason}`);
});

test('within sizes each has its baseline, and none has a line through all', () => {
  const doc = study({ axes: { transport: ['shm', 'tcp'], bytes: ['4096', '65536'] } });
  doc.within = 'bytes';
  const data = dots.collect(doc, stateOf(doc));
  assert.deepEqual(data.rows.map((r) => [r.short, r.baseline]), [['shm · 4 KiB', true], ['shm · 64 KiB', true], ['tcp · 4 KiB', false], ['tcp · 64 KiB', false]]);
  assert.equal(data.baseline, null);
  assert.doesNotMatch(data.note, /baseline/);
});
