// A live page: it follows the server's events and shows the progress of the runs in a banner.

import { h } from './dom.js';
import { count, duration, number, quantity, there } from './format.js';

/** patience is the time in ms after which the page gives up on a server that does not answer. */
export const patience = 30e3;

// The line of the throughput covers this number of seconds. It equals the terminal's number and fits a narrow page.
const recent = 40;

/**
 * follow calls onDocument for each document that differs from doc, and onProgress for each view.Live. It keeps a
 * banner at the top of the page. It ends with the runs or with the connection, because the page has all its data by
 * then. Tests may replace its parts.
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
  // Ignore an event that cannot be read; the next event may be valid.
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

/** runs describes the progress of all runs. */
export function runs(live) {
  const all = live.done + live.failed + live.left;
  const parts = [`${live.done} of ${count(all, 'run')} done`];
  if (live.failed > 0) parts.push(`${live.failed} failed`);
  parts.push(`${duration(1000 * live.seconds)} so far`);
  if (there(live.seconds_left) && !live.ended) parts.push(`${duration(1000 * live.seconds_left)} left`);
  return parts.join(', ');
}

const whole = (n) => n.toLocaleString('en-US');

/** running describes the progress of the current run. */
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

/** sparkline returns a bar for each value, from 0 to the highest, as on a terminal. */
export function sparkline(values) {
  const most = Math.max(0, ...values);
  return values.map((v) => bars[most > 0 ? Math.round((Math.max(0, v) / most) * (bars.length - 1)) : 0]).join('');
}

/**
 * banner returns the part of the page that shows the progress of the runs. Screen readers read only its state aloud,
 * because the rest changes every second.
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
