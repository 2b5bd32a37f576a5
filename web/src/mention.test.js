import assert from 'node:assert/strict';
import test from 'node:test';
import { mentions, sentence } from './mention.js';

const names = ['server=average', 'server=average_batch', 'server=average ntrainer=2', 'a'];

test('names of cells are found, the longest that fits, whole words alone', () => {
  const cut = (text) => mentions(text, names).map((p) => [p.text, p.cell]);
  assert.deepEqual(cut('server=average leads'), [['server=average', 0], [' leads', -1]]);
  assert.deepEqual(cut('than server=average_batch, server=average ntrainer=2.'), [
    ['than ', -1], ['server=average_batch', 1], [', ', -1], ['server=average ntrainer=2', 2], ['.', -1],
  ]);
  assert.deepEqual(cut('xserver=average server=averages'), [['xserver=average server=averages', -1]]);
  assert.deepEqual(cut('a is too short'), [['a is too short', -1]]);
  assert.deepEqual(cut(''), []);
});

test('a sentence begins with a capital letter, a name as it is', () => {
  assert.equal(sentence('cannot tell', names), 'Cannot tell');
  assert.equal(sentence('loss: not known', names), 'Loss: not known');
  assert.equal(sentence('held-out loss 0.3', names), 'Held-out loss 0.3');
  assert.equal(sentence('server=average leads', names), 'server=average leads');
  assert.equal(sentence('batch_size matters', names), 'batch_size matters');
  assert.equal(sentence('server matters', ['server']), 'server matters');
  assert.equal(sentence('all runs: a loss', ['all runs']), 'all runs: a loss');
  assert.equal(sentence('allreduce is', ['all']), 'Allreduce is');
  assert.equal(sentence('', ['']), '');
});
