import assert from 'node:assert/strict';
import test from 'node:test';
import { groupsOf } from './head.js';

test('sentences that follow each other with a label are a group', () => {
  const of = (labels) => groupsOf([...labels].map((label, at) => ({ label, at }))).map((group) => group.map((s) => s.at));
  assert.deepEqual(of(''), []);
  assert.deepEqual(of('aabba'), [[0, 1], [2, 3], [4]]);
});
