import assert from 'node:assert/strict';
import test from 'node:test';
import { banner, follow, patience, running, runs, sparkline } from './live.js';

// Stream is an event source that the test controls.
class Stream {
  constructor(url) {
    Object.assign(this, { url, told: {}, readyState: 0, closed: false });
  }
  addEventListener(name, fn) {
    this.told[name] = fn;
  }
  close() {
    this.closed = true;
  }
  send(name, value) {
    this.told[name]?.({ data: typeof value === 'string' ? value : JSON.stringify(value) });
  }
}

const live = (more) => ({ done: 0, failed: 0, left: 2, seconds: 0, seconds_left: null, running: null, ended: '', ...more });

// begin follows a document and records all calls.
function begin(first = live()) {
  const seen = { documents: [], progress: [], said: [], shown: [], at: 0 };
  follow({ made: 'a', live: first }, (d) => seen.documents.push(d.made), (l) => seen.progress.push(l), {
    connect: (url) => (seen.source = new Stream(url)),
    banner: { say: (kind, text) => seen.said.push([kind, text]), show: (l) => seen.shown.push(l) },
    now: () => seen.at,
  });
  return seen;
}

test('documents and progress are passed on', () => {
  const seen = begin();
  assert.equal(seen.source.url, 'events');
  seen.source.send('open');
  seen.source.send('document', { made: 'a' }); // the page was made from this document
  seen.source.send('document', { made: 'b' });
  seen.source.send('document', { made: 'b' }); // again, after a reconnect
  seen.source.send('document', { made: 'c' });
  seen.source.send('progress', live({ done: 1, left: 1 }));
  assert.deepEqual(seen.documents, ['b', 'c']);
  assert.deepEqual(seen.progress, [live({ done: 1, left: 1 })]);
  assert.deepEqual(seen.shown, [live(), live({ done: 1, left: 1 })]);
  assert.deepEqual(seen.said, [['live', 'Live: this page grows with the runs.']]);
});

test('what cannot be read is passed over', () => {
  const seen = begin();
  seen.source.send('document', '{"made":');
  seen.source.send('progress', '<html>');
  assert.deepEqual([seen.documents, seen.progress], [[], []]);
});

test('the end is said and nothing is asked any more', () => {
  const seen = begin();
  seen.source.send('progress', live({ done: 2, left: 0, ended: 'the sweep has ended' }));
  assert.equal(seen.source.closed, true);
  assert.deepEqual(seen.said.at(-1), ['ended', 'The sweep has ended.']);
  assert.equal(begin(live({ ended: 'it was interrupted' })).source.closed, true);
});

test('a lost connection is said, and its return', () => {
  const seen = begin();
  seen.source.send('open');
  seen.source.send('error');
  assert.deepEqual(seen.said.at(-1), ['lost', 'Connection lost; trying again.']);
  seen.at = patience - 1;
  seen.source.send('error');
  assert.equal(seen.source.closed, false);
  seen.source.send('open');
  assert.equal(seen.said.at(-1)[0], 'live');
  seen.at += 10;
  seen.source.send('error');
  assert.equal(seen.source.closed, false, 'the time counts from the last loss');
  seen.at += patience;
  seen.source.send('error');
  assert.equal(seen.source.closed, true);
  assert.match(seen.said.at(-1)[1], /^Connection lost\. The results so far stay/);
});

test('a browser that gives up is believed', () => {
  const seen = begin();
  seen.source.readyState = 2;
  seen.source.send('error');
  assert.equal(seen.source.closed, true);
});

test('how far the runs are', () => {
  assert.equal(runs(live({ seconds: 5 })), '0 of 2 runs done, 5.00 s so far');
  assert.equal(runs(live({ done: 1, failed: 1, seconds: 200, seconds_left: 61 })), '1 of 4 runs done, 1 failed, 3 min 20 s so far, 61.0 s left');
  assert.equal(runs(live({ done: 2, left: 0, seconds: 1, seconds_left: 0, ended: 'it has ended' })), '2 of 2 runs done, 1.00 s so far');
  assert.equal(running(null), '');
  assert.equal(running({ name: 'a=<b>', phase: 'launch', iterations: 0, of: 0, rate: 0, loss: null }), 'a=<b>: launch');
  assert.equal(
    running({ name: 'a', phase: 'measured pass', iterations: 12, of: 4000, rate: 1053.4, loss: 0.693147 }),
    'a: measured pass, 12 of 4,000 iterations, 1,053 samples/s, loss 0.6931',
  );
  assert.equal(sparkline([]), '');
  assert.equal(sparkline([0, 0]), '▁▁');
  assert.equal(sparkline([0, 5, 10, -1]), '▁▅█▁');
});

test('the banner shows text and no more of the throughput than it has room for', () => {
  class Fake {
    constructor(tag) {
      Object.assign(this, { tag, attrs: {}, children: [], textContent: '' });
    }
    setAttribute(name, value) {
      this.attrs[name] = value;
    }
    append(child) {
      this.children.push(child);
      if (child.text) this.textContent += child.text;
    }
  }
  globalThis.document = { createElement: (tag) => new Fake(tag), createTextNode: (text) => ({ text }) };
  const bar = banner();
  const [state, all, progress, one, line] = bar.node.children;
  assert.deepEqual([state.attrs.role, state.attrs['aria-live'], line.attrs['aria-hidden']], ['status', 'polite', 'true']);
  for (let i = 0; i < 100; i++) {
    bar.show(live({ done: 1, failed: 2, left: 1, running: { name: '<img src=x>', phase: 'p', iterations: i, of: 0, rate: 100, loss: null } }));
  }
  assert.equal(line.textContent, '█'.repeat(40));
  assert.match(one.textContent, /^<img src=x>: p, 99/);
  assert.match(all.textContent, /^1 of 4 runs done, 2 failed/);
  assert.equal(progress.attrs.value, '0.75');
  bar.say('lost', 'gone');
  assert.deepEqual([bar.node.attrs['data-state'], state.textContent], ['lost', 'gone']);
});
