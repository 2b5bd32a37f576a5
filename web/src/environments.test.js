import assert from 'node:assert/strict';
import test from 'node:test';
import { factsOf } from './environments.js';

test('what differs between environments stands first', () => {
  const of = (facts) => ({ facts: Object.entries(facts).map(([name, value]) => ({ name, value })) });
  assert.deepEqual(factsOf([of({ cpu: 'a', kernel: '1' }), of({ cpu: 'a', kernel: '2', quota: 'half' })]), [
    { name: 'kernel', values: ['1', '2'], differ: true },
    { name: 'quota', values: ['', 'half'], differ: true },
    { name: 'cpu', values: ['a', 'a'], differ: false },
  ]);
});
