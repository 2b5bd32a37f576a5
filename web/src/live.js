// A page of runs that go on: follows what the server says, and tells in a banner how far the runs are.

import { h } from './dom.js';
import { count, duration, number, quantity, there } from './format.js';

/** patience is how long a server may not answer before the page gives up, in ms. */
export const patience = 30e3;

// How many seconds the line of the throughput is of: as many as on a terminal, which a narrow page has room for.
const recent = 40;

/**
 * follow gives each document that differs from doc to onDocument and each progress, a view.Live, to
 * onProgress, and keeps a banner at the top of the page. It ends with the runs, or with the connection:
 * the page has all that it needs by then. What it is made of can be given otherwise, for tests.
 */
export function follow(doc, onDocument, onProgress = () => {}, parts = {}) {
  const connect = parts.connect ?? ((url) => new EventSource(url));
  const bar = parts.banner ?? mounted(banner());
  const now = parts.now ?? (() => Date.now());
  let made = doc.made;
  let lostAt = null;
  const source = connect('events');
  const end = (state, text) => {
    source.close();
    bar.say(state, text);
  };
  const show = (live) => {
    bar.show(live);
    onProgress(live);
    if (live.ended) end('ended', sentence(live.ended));
  };
  // What cannot be read is of a server that is none; the next event may be better.
  const read = (use) => (event) => {
    let value;
    try {
      value = JSON.parse(event.data);
    } catch {
      return;
    }
    use(value);
  };
  source.addEventListener('open', () => {
    lostAt = null;
    bar.say('live', 'Live: this page grows with the runs.');
  });
  source.addEventListener('error', () => {
    lostAt ??= now();
    if (source.readyState === 2 || now() - lostAt >= patience) {
      end('lost', 'Connection lost. The results so far stay here; if the runs continue, reload the page.');
    } else {
      bar.say('lost', 'Connection lost; trying again.');
    }
  });
  source.addEventListener('progress', read(show));
  source.addEventListener('document', read((next) => {
    if (next.made === made) return;
    made = next.made;
    onDocument(next);
  }));
  bar.show(doc.live);
  if (doc.live.ended) end('ended', sentence(doc.live.ended));
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');

/** runs says how far all runs are. */
export function runs(live) {
  const all = live.done + live.failed + live.left;
  const parts = [`${live.done} of ${count(all, 'run')} done`];
  if (live.failed > 0) parts.push(`${live.failed} failed`);
  parts.push(`${duration(1000 * live.seconds)} so far`);
  if (there(live.seconds_left) && !live.ended) parts.push(`${duration(1000 * live.seconds_left)} left`);
  return parts.join(', ');
}

const whole = (n) => n.toLocaleString('en-US');

/** running says how far the run is that goes on. */
export function running(run) {
  if (!run) return '';
  const parts = [run.phase];
  if (run.of > 0) parts.push(`${whole(run.iterations)} of ${whole(run.of)} iterations`);
  else if (run.iterations > 0) parts.push(count(run.iterations, 'iteration'));
  if (run.rate > 0) parts.push(quantity(run.rate, 'samples/s'));
  if (there(run.loss)) parts.push(`loss ${number(run.loss)}`);
  return `${run.name}: ${parts.join(', ')}`;
}

const bars = '▁▂▃▄▅▆▇█';

/** sparkline is a bar for each value, from 0 to the highest, as on a terminal. */
export function sparkline(values) {
  const most = Math.max(0, ...values);
  return values.map((v) => bars[most > 0 ? Math.round((Math.max(0, v) / most) * (bars.length - 1)) : 0]).join('');
}

/**
 * banner is the part of the page that says how far the runs are. Only its state is read aloud: what
 * changes every second is there to be looked at.
 */
export function banner() {
  const state = h('p', { class: 'live-state', role: 'status', 'aria-live': 'polite' }, 'Live: connecting.');
  const all = h('p', { class: 'live-runs' });
  const bar = h('progress', { class: 'live-bar', max: '1', 'aria-label': 'Runs that have ended' });
  const one = h('p', { class: 'live-run' });
  const line = h('p', { class: 'live-line', 'aria-hidden': 'true' });
  const node = h('aside', { class: 'live', 'data-state': 'live', 'aria-label': 'Progress' }, state, all, bar, one, line);
  const rates = [];
  const text = (element, value) => {
    if (element.textContent !== value) element.textContent = value;
  };
  return {
    node,
    say(kind, words) {
      node.setAttribute('data-state', kind);
      text(state, words);
    },
    show(live) {
      const total = live.done + live.failed + live.left;
      text(all, runs(live));
      bar.setAttribute('value', String(total > 0 ? (live.done + live.failed) / total : 0));
      text(one, running(live.running));
      if (live.running?.rate > 0) rates.push(live.running.rate);
      rates.splice(0, rates.length - recent);
      text(line, rates.length > 1 ? sparkline(rates) : '');
    },
  };
}

function mounted(bar) {
  const main = document.querySelector('main');
  main.parentNode.insertBefore(bar.node, main);
  return bar;
}
