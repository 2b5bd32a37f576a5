// The state of the page, which consists of the reader's choices. Everything drawn follows from the document and this
// state.

/** initial returns the state before the reader has chosen anything. */
export function initial(doc) {
  return {
    metric: doc.metric,
    baseline: doc.baseline,
    chosen: chosenAtFirst(doc),
    filter: {},
    sort: { column: 'order', down: false },
  };
}

// chosenAtFirst returns the first cells with runs, as many as a reader can distinguish.
function chosenAtFirst(doc) {
  const some = [];
  for (let i = 0; i < doc.cells.length && some.length < 6; i++) {
    if (doc.cells[i].runs.length > 0) some.push(i);
  }
  return some;
}

/**
 * carried returns the state for the next document. The reader's choices stay, and everything else gets its initial
 * value.
 */
export function carried(state, doc, next) {
  const was = initial(doc);
  const is = initial(next);
  return Object.fromEntries(Object.keys(state).map((key) => [key, same(state[key], was[key]) ? is[key] : state[key]]));
}

/**
 * makeStore returns a store of the state. The method set(patch) merges a patch into the state. Then it notifies all
 * subscribers once, in the order of their subscriptions. A patch without changes notifies no subscriber.
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
