import { matchesAction } from '../../../core/values/action-pattern';

/** Actions and patterns of actions, each with who lists it, among which those that have an action in common are found. */
export class NamedActions {
  private readonly by = new Map<string, Set<string>>();
  private readonly sorted: readonly string[];
  /** Lengths of what stands before the `*` of a pattern. */
  private readonly lengths: readonly number[];

  constructor(lists: Iterable<{ readonly name: string; readonly actions: Iterable<string> }>) {
    for (const { name, actions } of lists)
      for (const action of actions) this.by.set(action, (this.by.get(action) ?? new Set()).add(name));
    this.sorted = [...this.by.keys()].sort();
    const patterns = this.sorted.filter((listed) => listed.endsWith('*'));
    this.lengths = [...new Set(patterns.map(({ length }) => length - 1))];
  }

  /** Whether somebody else lists one that has an action in common with it. */
  haveInCommon(action: string, except: string | null = null): boolean {
    const isElsewhere = (listed: string): boolean => {
      const names = this.by.get(listed);
      return names !== undefined && (names.size > 1 || except === null || !names.has(except));
    };
    for (const length of this.lengths)
      if (length < action.length && isElsewhere(`${action.slice(0, length)}*`)) return true;
    if (isElsewhere(action)) return true;
    if (!action.endsWith('*')) return false;
    const prefix = action.slice(0, -1);
    for (let index = this.firstFrom(prefix); index < this.sorted.length; index += 1) {
      const listed = this.sorted[index] ?? '';
      if (!matchesAction(action, listed)) return false;
      if (isElsewhere(listed)) return true;
    }
    return false;
  }

  private firstFrom(text: string): number {
    let [low, high] = [0, this.sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.sorted[middle] ?? '') < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
