import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, measuresOf } from './learning.js';
import { empty, stateOf, study } from './testing.js';

const of = (doc, own = {}) => collect(doc, stateOf(doc), own);

test('a line per run, held-out loss against seconds at first', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, epochs: 3, runs: 2 });
  const data = of(doc);
  assert.deepEqual([data.measure, data.over], ['held_out_loss', 'seconds']);
  assert.equal(data.lines.length, 4);
  const { epochs } = doc.runs[2];
  assert.deepEqual(data.lines[2].xs, epochs.map((e) => e.seconds));
  assert.deepEqual(data.lines[2].values, epochs.map((e) => e.values.held_out_loss));
  assert.deepEqual(data.lines.map((l) => l.median), [true, false, true, false]);
});

test('AUC against bytes', () => {
  const doc = study({ axes: {}, epochs: 3, runs: 1 });
  const data = of(doc, { measure: 'held_out_auc', over: 'bytes' });
  assert.deepEqual(data.lines[0].xs, [4e7, 8e7, 12e7]);
  assert.deepEqual(data.lines[0].values, doc.runs[0].epochs.map((e) => e.values.held_out_auc));
});

test('without bytes there are seconds', () => {
  const doc = study({ axes: {}, epochs: 3 });
  for (const r of doc.runs) for (const e of r.epochs) e.bytes = 0;
  assert.equal(of(doc, { over: 'bytes' }).over, 'seconds');
});

test('what was not measured after an epoch is a gap', () => {
  const doc = study({ axes: {}, epochs: 3, runs: 1 });
  const data = of(doc, { measure: 'held_out_accuracy' });
  assert.deepEqual(data.lines[0].values.map((v) => v === null), [false, true, false]);
});

test('measures are those that were measured, held-out ones first', () => {
  const doc = study({ axes: {}, epochs: 2, runs: 1 });
  for (const e of doc.runs[0].epochs) Object.assign(e.values, { held_out_auc: null, other: 1 });
  assert.deepEqual(measuresOf(doc), ['held_out_loss', 'held_out_accuracy', 'train_loss', 'other']);
});

test('nothing to draw', () => {
  for (const doc of [empty(), study({ epochs: 0 }), study({ failed: () => true, epochs: 3 })]) assert.equal(of(doc), null);
});

test('of epochs that were thinned the numbers are kept, and it is said', () => {
  const doc = study({ axes: {}, epochs: 40, runs: 2 });
  assert.doesNotMatch(of(doc).note, /epochs/);
  for (const r of doc.runs) r.epochs = r.epochs.filter((e) => e.number % 8 === 0 || e.number === 13);
  const data = of(doc);
  assert.deepEqual(data.lines[0].numbers, [8, 13, 16, 24, 32, 40]);
  assert.match(data.note, /The lines have 12 of 80 epochs: the last and the best of each run are among them\./);
});
