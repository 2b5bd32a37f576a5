// The state of the page: what a reader has chosen. All that is drawn follows from the document and this.

/** What is chosen before anybody chose anything. */
export function initial(doc) {
  return {
    metric: doc.metric,
    baseline: doc.baseline,
    chosen: chosenAtFirst(doc),
    filter: {},
    sort: { column: 'order', down: false },
  };
}

// The first cells with runs, as many as one can tell apart.
function chosenAtFirst(doc) {
  const some = [];
  for (let i = 0; i < doc.cells.length && some.length < 6; i++) {
    if (doc.cells[i].runs.length > 0) some.push(i);
  }
  return some;
}

/** carried is a state for the next document: what a reader has chosen stays, all else is as at first. */
export function carried(state, doc, next) {
  const was = initial(doc);
  const is = initial(next);
  return Object.fromEntries(Object.keys(state).map((key) => [key, same(state[key], was[key]) ? is[key] : state[key]]));
}

/**
 * store holds the state: set(patch) merges a patch into it and tells all who subscribed, once, in the
 * order in which they did. A patch that changes nothing tells nobody.
 */
export function makeStore(state) {
  const told = new Set();
  return {
    state,
    set(patch) {
      const changed = Object.keys(patch).filter((key) => !same(patch[key], this.state[key]));
      if (changed.length === 0) return;
      this.state = { ...this.state, ...patch };
      for (const fn of [...told]) fn(this.state, changed);
    },
    subscribe(fn) {
      told.add(fn);
      return () => told.delete(fn);
    },
  };
}

function same(a, b) {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
