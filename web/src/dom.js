// Elements are made here and nowhere else: text becomes text, never markup.

const svgSpace = 'http://www.w3.org/2000/svg';

// What a page made of hostile text must not be able to ask for.
const refused = /^(?:on|src|srcdoc|style$|action|formaction|innerhtml|outerhtml)/i;

/**
 * h makes an element. Attributes: `class`, `aria-...` and the like as text; true is an attribute without
 * value, false, null and undefined are none; `style` is an object of properties, which are set one by
 * one; a function is a listener of the event that its name has after "on". Children are text, nodes, or
 * lists of them; null and false are none.
 */
export function h(tag, attrs, ...children) {
  return fill(document.createElement(tag), attrs, children);
}

/** s makes an element of a drawing. */
export function s(tag, attrs, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attrs, children);
}

function fill(element, attrs, children) {
  for (const [name, value] of Object.entries(attrs ?? {})) attribute(element, name, value);
  append(element, children);
  return element;
}

function attribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === 'function' && name.startsWith('on')) {
    element.addEventListener(name.slice(2), value);
  } else if (name === 'style' && typeof value === 'object') {
    for (const [property, v] of Object.entries(value)) element.style.setProperty(property, v);
  } else if (refused.test(name)) {
    throw new TypeError(`the attribute ${name} is not for text`);
  } else if (/href$/i.test(name) && !String(value).startsWith('#')) {
    throw new TypeError(`a link leads to a place of the page, not to ${value}`);
  } else {
    element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** append adds children to an element. */
export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === 'object' ? child : document.createTextNode(String(child)));
  }
}

/** replace puts children in the place of those that an element has. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}
