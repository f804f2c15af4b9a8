/** Work on one thing, one after the other; work on different things goes side by side. */
export interface Turns {
  /** Begins at once where nothing is under way for this name, else when that is over, failed or not. */
  take<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();

  return {
    take(name, work) {
      const before = last.get(name);
      const mine = before === undefined ? work() : before.then(work, work);
      last.set(name, mine);
      const over = () => {
        if (last.get(name) === mine) last.delete(name);
      };
      mine.then(over, over);
      return mine;
    },
  };
}
