// Only this module creates elements. Text stays text and never becomes markup.

const svgSpace = 'http://www.w3.org/2000/svg';

// refused matches attributes that hostile text must never set.
const refused = /^(?:on|src|srcdoc|style$|action|formaction|innerhtml|outerhtml)/i;

/**
 * h creates an element. Attributes such as class and aria-label are text. The value true makes an attribute without a
 * value; false, null and undefined omit the attribute. The value of style is an object of properties, which are set
 * one by one. If a name starts with "on", its function listens to the event named by the rest. Children are texts,
 * nodes, or lists of them; null and false are skipped.
 */
export function h(tag, attrs, ...children) {
  return fill(document.createElement(tag), attrs, children);
}

/** s creates an SVG element. */
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

/** replace replaces all children of an element. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}
