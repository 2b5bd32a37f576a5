import assert from 'node:assert/strict';
import { test } from 'node:test';
import { picture } from './picture.js';

// Element implements the part of a browser's elements that pictures use.
class Element {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, children: [], listeners: {}, dataset: {}, hidden: false, parent: null, clientWidth: 800, offsetWidth: 10, offsetHeight: 10 });
    this.style = { setProperty: (name, value) => (this.style[name] = value) };
    this.classList = { add: (name) => (this.attributes.class = `${this.attributes.class ?? ''} ${name}`.trim()) };
  }
  append(...nodes) {
    for (const node of nodes) {
      if (node instanceof Element) node.parent = this;
      this.children.push(node);
    }
  }
  replaceChildren(...nodes) {
    this.children = [];
    this.append(...nodes);
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
    if (name === 'name') this.name = value;
  }
  addEventListener(type, fn) {
    (this.listeners[type] ??= []).push(fn);
  }
  removeEventListener(type, fn) {
    this.listeners[type] = (this.listeners[type] ?? []).filter((each) => each !== fn);
  }
  fire(type, event = {}) {
    for (const fn of this.listeners[type] ?? []) fn({ target: this, preventDefault() {}, ...event });
  }
  contains() {
    return false;
  }
  setPointerCapture() {}
  getBoundingClientRect() {
    return { left: 0, top: 0 };
  }
  get childElementCount() {
    return this.children.length;
  }
  get textContent() {
    return this.children.map((c) => c.textContent ?? c.text).join('');
  }
  all(test) {
    return this.children.flatMap((c) => (c instanceof Element ? [...(test(c) ? [c] : []), ...c.all(test)] : []));
  }
}

function browser() {
  const media = { listeners: [] };
  Object.assign(globalThis, {
    document: { createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag), createTextNode: (text) => ({ text }), activeElement: null },
    matchMedia: () => ({ addEventListener: (_, fn) => media.listeners.push(fn), removeEventListener: (_, fn) => (media.listeners = media.listeners.filter((each) => each !== fn)) }),
    ResizeObserver: class {
      observe() {}
      disconnect() {}
    },
    requestAnimationFrame: (fn) => fn(),
    cancelAnimationFrame: () => {},
    CSS: { escape: (text) => text },
  });
  return media;
}

// points makes a picture of points, and a list with the range of each painting.
function points() {
  const painted = [];
  const made = picture({
    name: 'points',
    title: 'Points',
    about: 'As a test.',
    own: { by: 'x' },
    collect: (doc, state, own) => (doc.points.length > 0 ? { points: doc.points, by: own.by, metric: state.metric, note: 'noted' } : null),
    sentence: (data) => `${data.points.length} points`,
    choices: (data) => [{ key: 'by', label: 'by', value: data.by, options: [{ value: 'x', label: 'x' }, { value: 'y', label: 'y' }] }],
    table: (data) => ({ head: ['point'], rows: data.points.map((p) => [String(p)]) }),
    height: () => 100,
    paint(stage, data, { own }) {
      painted.push(own.zoom);
      stage.append(new Element('canvas'));
      return { marks: data.points.map((p) => ({ x: p, y: 10, text: [`point ${p}`] })), x: { from: 0, to: 100, full: [0, 100], invert: (px) => px } };
    },
  });
  return { made, painted };
}

function mounted(doc) {
  const media = browser();
  const { made, painted } = points();
  const into = new Element('div');
  const handle = made.draw(into, doc, { state: { metric: 'm' } });
  const one = (of) => into.all((e) => (e.attributes.class ?? '').split(' ').includes(of))[0];
  return { media, painted, into, handle, box: one('picture-box'), stage: one('picture-stage'), tip: one('picture-tip'), all: one('picture-all'), rows: one('picture-rows'), one };
}

test('a picture has an accessible name, a height of its own, and its data as a table', () => {
  const { stage, box, rows, into, handle } = mounted({ points: [10, 50] });
  assert.equal(stage.attributes.role, 'img');
  assert.equal(stage.attributes['aria-label'], '2 points');
  assert.equal(stage.style.height, '100px');
  assert.equal(box.attributes.tabindex, '0');
  const [details] = into.all((e) => e.tag === 'details');
  details.open = true;
  details.fire('toggle');
  assert.deepEqual(rows.all((e) => e.tag === 'td').map((e) => e.textContent), ['10', '50']);
  assert.deepEqual(handle.data().points, [10, 50]);
});

test('arrow keys go through the points and say what they are', () => {
  const { box, tip } = mounted({ points: [10, 50] });
  const said = [];
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'End', 'Home', 'Escape']) {
    box.fire('keydown', { key });
    said.push(tip.hidden ? '' : tip.textContent);
  }
  assert.deepEqual(said, ['point 10', 'point 50', 'point 50', 'point 10', 'point 50', 'point 10', '']);
});

test('zoom and what is pointed at stay when more comes', () => {
  const { box, tip, painted, handle, all } = mounted({ points: [10, 50] });
  box.fire('keydown', { key: 'End' });
  box.fire('keydown', { key: '+' });
  assert.deepEqual(painted.at(-1), [25, 75]);
  handle.update({ points: [10, 20, 50] }, { metric: 'm' });
  assert.deepEqual(painted.at(-1), [25, 75]);
  assert.equal(tip.textContent, 'point 50');
  assert.equal(all.disabled, false);
  box.fire('keydown', { key: '0' });
  assert.equal(painted.at(-1), null);
  assert.equal(all.disabled, true);
});

test('dragging over a range shows that, a click does not', () => {
  const { box, painted } = mounted({ points: [10] });
  box.fire('pointerdown', { button: 0, clientX: 20 });
  box.fire('pointerup', { clientX: 22 });
  assert.equal(painted.length, 1);
  box.fire('pointerdown', { button: 0, clientX: 60 });
  box.fire('pointermove', { clientX: 40 });
  box.fire('pointerup', { clientX: 30 });
  assert.deepEqual(painted.at(-1), [30, 60]);
});

test('nothing new is not drawn again, another colour scheme is', () => {
  const { painted, handle, media } = mounted({ points: [10] });
  handle.update({ points: [10] }, { metric: 'm' });
  assert.equal(painted.length, 1);
  media.listeners[0]();
  assert.equal(painted.length, 2);
  handle.destroy();
  assert.equal(media.listeners.length, 0);
});

test('a choice in the picture draws it by that, and shows all', () => {
  const { into, box, painted, handle } = mounted({ points: [10] });
  box.fire('keydown', { key: '+' });
  into.all((e) => e.tag === 'select')[0].fire('change', { target: { value: 'y' } });
  assert.equal(handle.data().by, 'y');
  assert.equal(painted.at(-1), null);
});

test('what no longer has anything to draw says so, and comes back', () => {
  const { handle, stage } = mounted({ points: [10] });
  handle.update({ points: [] }, { metric: 'm' });
  assert.equal(handle.data(), null);
  assert.equal(stage.textContent, 'There is nothing to draw.');
  handle.update({ points: [1] }, { metric: 'm' });
  assert.equal(stage.attributes['aria-label'], '1 points');
});
