import assert from 'node:assert/strict';
import test from 'node:test';
import { carried, initial, makeStore } from './state.js';

test('the first cells with runs are chosen', () => {
  const cells = [[], [0], [1], [], [2], [3], [4], [5], [6]].map((runs) => ({ runs }));
  const state = initial({ metric: 'throughput', baseline: 1, cells });
  assert.deepEqual(state.chosen, [1, 2, 4, 5, 6, 7]);
  assert.equal(state.baseline, 1);
});

test('what a reader has chosen stays, and all else follows the document', () => {
  const cells = (...runs) => runs.map((r) => ({ runs: r }));
  const first = { metric: 'throughput', baseline: -1, cells: [] };
  const next = { metric: 'throughput', baseline: 1, cells: cells([0], [1]) };
  assert.deepEqual(carried(initial(first), first, next), initial(next));
  const chosen = { ...initial(first), metric: 'start', sort: { column: 'runs', down: true } };
  assert.deepEqual(carried(chosen, first, next), { ...initial(next), metric: 'start', sort: { column: 'runs', down: true } });
  const one = { ...initial(next), chosen: [1] };
  assert.deepEqual(carried(one, next, { ...next, cells: cells([0], [1], [2]) }).chosen, [1]);
});

test('set tells of what changed, once, and only then', () => {
  const store = makeStore({ metric: 'a', chosen: [1] });
  const told = [];
  const stop = store.subscribe((state, changed) => told.push([state.metric, changed]));
  store.set({ metric: 'a', chosen: [1] });
  store.set({ metric: 'b', chosen: [1] });
  stop();
  store.set({ metric: 'c' });
  assert.deepEqual(told, [['b', ['metric']]]);
  assert.equal(store.state.metric, 'c');
});

test('who unsubscribes while others are told disturbs nobody', () => {
  const store = makeStore({ metric: 'a' });
  const told = [];
  const stop = store.subscribe(() => stop());
  store.subscribe(() => told.push(1));
  store.set({ metric: 'b' });
  assert.deepEqual(told, [1]);
});
