// The pictures, one below the other. Each picture is drawn when a reader scrolls near it.

import { h } from './dom.js';
import { held } from './format.js';
import { sampled } from './pictures/cells.js';

/** gallery mounts a section for each picture that has something to show. */
export function gallery(doc, store, pictures, handles) {
  let d = doc;
  const section = h('section', { id: 'pictures', 'aria-labelledby': 'pictures-title' }, h('h2', { id: 'pictures-title' }, 'Pictures'));
  const frames = new Map();
  const near = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting) draw(frames.get(e.target));
  }, { rootMargin: '600px 0px' });

  const draw = (frame) => {
    if (frame.handle || frame.box.hidden) return;
    near.unobserve(frame.box);
    frame.handle = frame.picture.draw(frame.into, d, store);
    handles[frame.picture.name] = frame.handle;
  };
  // An empty picture takes no room. Other pictures reserve their room before they are drawn.
  const sort = () => {
    const width = section.clientWidth || Math.min(1100, document.documentElement.clientWidth - 48);
    for (const frame of frames.values()) {
      frame.box.hidden = !frame.picture.shows(d, store.state);
      if (!frame.box.hidden && !frame.handle && frame.picture.reserves) frame.into.style.minHeight = `${frame.picture.reserves(d, store.state, width)}px`;
    }
    section.hidden = [...frames.values()].every((frame) => frame.box.hidden);
  };
  for (const picture of pictures) {
    const into = h('div', { class: 'drawing' });
    const box = h('section', { class: 'picture', id: `picture-${picture.name}`, 'aria-labelledby': `title-${picture.name}` },
      h('h3', { id: `title-${picture.name}` }, picture.title), h('p', { class: 'about' }, picture.about), into);
    frames.set(box, { picture, box, into, handle: null });
    section.append(box);
    near.observe(box);
  }
  sort();
  if (d.sampling) section.append(h('p', { class: 'soft sampling' }, held(sampled(d))));

  const update = () => {
    sort();
    for (const frame of frames.values()) {
      if (frame.box.hidden) continue;
      if (frame.handle) frame.handle.update(d, store.state);
      else {
        near.unobserve(frame.box);
        near.observe(frame.box);
      }
    }
  };
  store.subscribe((_, changed) => {
    if (changed.some((key) => key !== 'sort')) update();
  });
  // Before printing, draw all pictures.
  window.addEventListener('beforeprint', () => {
    for (const frame of frames.values()) draw(frame);
  });
  return {
    nodes: [section],
    update(next) {
      d = next;
      update();
    },
  };
}
