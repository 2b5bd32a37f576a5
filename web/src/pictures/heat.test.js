import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, collect, shade } from './heat.js';
import { empty, stateOf, study } from './testing.js';

const of = (doc, own = {}, state = {}) => collect(doc, { ...stateOf(doc), ...state }, { x: '', y: '', by: 'change', ...own });
const speed = ([hook, n]) => 1000 * Number(n) * (hook === 'rpc' ? 1 : 1.001);

test('fields have value and change, by place', () => {
  const doc = study({ speed });
  const data = of(doc);
  assert.deepEqual([data.y.name, data.x.name], ['hook', 'trainers']);
  const f = data.fields.find((each) => each.row === 1 && each.column === 3);
  assert.equal(f.name, 'hook=noop trainers=8');
  assert.equal(f.value, doc.judged.throughput.estimates[7].median);
  assert.equal(f.change, doc.judged.throughput.against[0][7].change);
});

test('the scale goes to the greatest change, and has no colour where nothing is proven', () => {
  const data = of(study({ speed }));
  const strength = (row, column) => data.fields.find((f) => f.row === row && f.column === column).strength;
  assert.equal(strength(0, 0), 0);
  assert.equal(strength(1, 0), 0, 'cannot tell');
  assert.ok(strength(0, 1) > 0.3 && strength(0, 1) < strength(0, 2));
  assert.ok(Math.max(...data.fields.map((f) => f.strength)) === 1);
});

test('where less is better, less is on the better side', () => {
  const data = of(study({ speed }), {}, { metric: 'time_per_batch' });
  const f = data.fields.find((each) => each.column === 3);
  assert.ok(f.change < 0 && f.strength > 0);
});

test('worse and better are two colours, and a value is a third', () => {
  assert.match(shade('change', -1), /--heat-worse\) 100%/);
  assert.match(shade('change', 0.5), /--heat-better\) 50%/);
  assert.match(shade('value', 0.5), /--heat-value\) 50%/);
  assert.equal(shade('change', 0), 'var(--raised)');
});

test('what is not proven has ~ before it', () => {
  assert.equal(changed({ told: '+1.0 %', verdict: 'cannot tell' }), '~ +1.0 %');
  assert.equal(changed({ told: '−20.0 %', verdict: 'worse' }), '−20.0 %');
  assert.equal(changed({ told: '', verdict: '', baseline: true }), 'baseline');
  assert.equal(changed({ told: '', verdict: '' }), '');
});

test('other axes have the value of the baseline, or the one that was chosen', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], trainers: ['1', '2'], size: ['4', '8', '16'] }, runs: 6 });
  const data = of(doc, {}, { baseline: 1 });
  assert.deepEqual(data.others, [{ name: 'size', values: ['4', '8', '16'], shown: ['4', '8', '16'], value: '8' }]);
  assert.deepEqual(data.fields.map((f) => f.name.split(' ')[2]), Array(4).fill('size=8'));
  assert.equal(of(doc, { 'at size': '16' }).others[0].value, '16');
  const turned = of(doc, { x: 'hook', y: 'size' });
  assert.deepEqual([turned.x.name, turned.y.name, turned.others[0].name], ['hook', 'size', 'trainers']);
  assert.notEqual(of(doc, { x: 'hook', y: 'hook' }).x.name, 'hook');
});

test('failed cells are fields that say so', () => {
  const data = of(study({ speed, failed: ([, n]) => n === '8' }));
  assert.match(data.fields.find((f) => f.column === 3).why, /^failed: trainer1/);
});

test('without a baseline there are values', () => {
  assert.equal(of(study({ speed }), {}, { baseline: -1 }).by, 'value');
});

test('nothing to draw', () => {
  for (const doc of [empty(), study({ axes: { n: ['1', '2'] } }), study({ failed: () => true })]) assert.equal(of(doc), null);
});

test('fields are those that the filter keeps, and the scale is theirs', () => {
  const doc = study({ speed });
  const data = of(doc, {}, { filter: { trainers: ['1', '2'] } });
  assert.deepEqual(data.x.values, ['1', '2']);
  assert.deepEqual(data.y.values, ['rpc', 'noop']);
  assert.deepEqual(data.fields.map((f) => f.name), ['hook=rpc trainers=1', 'hook=rpc trainers=2', 'hook=noop trainers=1', 'hook=noop trainers=2']);
  assert.equal(Math.max(...data.fields.map((f) => f.strength)), 1);
  assert.equal(of(doc, {}, { filter: { hook: [] } }), null);
});

test('an axis that has one value of the others has one that the filter keeps', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'], trainers: ['1', '2'], size: ['4', '8', '16'] } });
  const data = of(doc, {}, { baseline: 1, filter: { size: ['4', '16'] } });
  assert.deepEqual(data.others, [{ name: 'size', values: ['4', '16'], shown: ['4', '16'], value: '4' }]);
  assert.equal(of(doc, { 'at size': '8' }, { filter: { size: ['16'] } }).others[0]?.value ?? '16', '16');
  const one = of(doc, {}, { filter: { hook: ['noop'] } });
  assert.deepEqual([one.y.name, one.x.name], ['trainers', 'size'], 'axes with several values come first');
});
