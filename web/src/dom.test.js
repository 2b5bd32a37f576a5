import assert from 'node:assert/strict';
import test from 'node:test';
import { h, s } from './dom.js';

// Fake implements the part of an element that the module uses.
class Fake {
  constructor(tag) {
    Object.assign(this, { tag, attrs: {}, children: [], events: [], css: {} });
    this.style = { setProperty: (name, value) => (this.css[name] = value) };
  }
  setAttribute(name, value) {
    this.attrs[name] = value;
  }
  addEventListener(name) {
    this.events.push(name);
  }
  append(child) {
    this.children.push(child);
  }
}
globalThis.document = {
  createElement: (tag) => new Fake(tag),
  createElementNS: (_, tag) => new Fake(tag),
  createTextNode: (text) => ({ text }),
};

test('text is text', () => {
  const e = h('p', { class: 'a', hidden: true, id: null, onclick() {} }, '<b>', null, [1, [h('i')]]);
  assert.deepEqual(e.attrs, { class: 'a', hidden: '' });
  assert.deepEqual(e.events, ['click']);
  assert.deepEqual(e.children.slice(0, 2), [{ text: '<b>' }, { text: '1' }]);
  assert.equal(e.children[2].tag, 'i');
});

test('styles are set property by property', () => {
  assert.deepEqual(s('rect', { style: { fill: 'red' } }).css, { fill: 'red' });
});

test('what text could do harm with is refused', () => {
  for (const [name, value] of [
    ['onclick', 'alert(1)'],
    ['style', 'color:red'],
    ['src', 'x'],
    ['href', 'javascript:alert(1)'],
    ['href', 'https://example.com'],
    ['xlink:href', 'data:x'],
    ['formaction', 'x'],
  ]) {
    assert.throws(() => h('a', { [name]: value }), TypeError, name);
  }
  assert.deepEqual(h('a', { href: '#table' }).attrs, { href: '#table' });
});
