/** Most values of a body, and of each item of a list in a body that may have more in total. */
const MAX_VALUES = 10_000;

/** Bytes of a list after which a group of its items ends. */
const GROUP_BYTES = 64 * 1024;
/** Bytes that are read without a pause. */
const STEP_BYTES = 1024 * 1024;

/** Bounds of a body. */
export interface ExtentBounds {
  /** The most values in all. */
  readonly mostInAll?: number | undefined;
  /**
   * Most bytes of each item of a list, and of everything outside the items, if `mostInAll` is above {@link MAX_VALUES}.
   */
  readonly mostItemBytes?: number | undefined;
}

/** Neighbouring items of a list, by their place in the bytes. */
export interface ItemGroup {
  readonly from: number;
  readonly to: number;
  readonly items: number;
  /** Number of the items, and of the members and elements inside them at any depth. */
  readonly values: number;
}

/** Extent of a JSON text; if it is too large, of the part that was read. */
export interface BodyExtent {
  /** Number of members and elements at any depth. */
  readonly values: number;
  /** Depth of nesting. */
  readonly levels: number;
  /** The lists with items on the second level, in groups, if the body may have more than {@link MAX_VALUES} values. */
  readonly lists: readonly (readonly ItemGroup[])[];
  /** Fault of too many values or bytes; undefined if there is none. */
  readonly excess: string | undefined;
}

const LAST_SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Reads the extent of a body without a pause: see {@link readExtent}. */
export function extentOf(bytes: Uint8Array, bounds: ExtentBounds = {}): BodyExtent {
  const reading = readExtent(bytes, bounds);
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  return step.value;
}

/**
 * Counts the values of a body (members and elements at any depth) in its bytes, before anything is built from them.
 * With `mostInAll` above {@link MAX_VALUES}, that bound holds for each item of the lists that are members of the body,
 * and for everything outside these items. For bytes that are not JSON the result is meaningless. Yields where other
 * requests may be served.
 */
export function* readExtent(
  bytes: Uint8Array,
  { mostInAll = MAX_VALUES, mostItemBytes = Infinity }: ExtentBounds,
): Generator<undefined, BodyExtent, undefined> {
  const hasItems = mostInAll > MAX_VALUES;
  const lists = new ItemLists();
  let [level, levels] = [0, 0];
  let [all, outside, inItem, item, itemStart] = [0, 0, 0, 0, 0];
  let [isInText, isFirst, isInList] = [false, false, false];
  let pause = STEP_BYTES;
  const end = (excess?: string): BodyExtent => ({ values: all, levels, lists: lists.closed, excess });
  for (let index = 0; index < bytes.length; index += 1) {
    if (index >= pause) {
      yield;
      pause = index + STEP_BYTES;
    }
    const code = bytes[index] ?? 0;
    if (isInText) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) isInText = false;
      continue;
    }
    if (code <= LAST_SPACE) continue;
    const isEnd = code === CLOSE_BRACE || code === CLOSE_BRACKET;
    const isItemEnd = hasItems && isInList && level === 2 && (code === COMMA || isEnd);
    if (isItemEnd && item > 0 && index - itemStart > mostItemBytes)
      return end(byteExcess(`in item ${item} of a list`, mostItemBytes));
    if (code === COMMA || (isFirst && !isEnd)) {
      all += 1;
      const isItem = hasItems && isInList && level === 2;
      if (isItem) {
        [item, inItem] = [item + 1, 0];
        lists.addItem(isFirst ? itemStart : index, { isFirst, values: all });
        if (!isFirst) itemStart = index + 1;
      } else if (hasItems && isInList && level > 2) inItem += 1;
      else outside += 1;
      if (all > mostInAll) return end(excessOf('', mostInAll));
      if (outside > MAX_VALUES) return end(excessOf(hasItems ? 'outside its items ' : '', MAX_VALUES));
      if (inItem > MAX_VALUES) return end(excessOf(`in item ${item} of a list `, MAX_VALUES));
    }
    isFirst = false;
    if (code === QUOTE) isInText = true;
    else if (isEnd) {
      if (level === 2) lists.close(index, all);
      level -= 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      isFirst = true;
      level += 1;
      if (level > levels) levels = level;
      if (level === 2) [isInList, item, itemStart] = [code === OPEN_BRACKET, 0, index + 1];
    }
  }
  lists.close(bytes.length, all);
  const isTooLong = hasItems && bytes.length - lists.bytes > mostItemBytes;
  return end(isTooLong ? byteExcess('outside its items', mostItemBytes) : undefined);
}

/** Collects the lists of a body, and cuts them into groups at the commas between their items. */
class ItemLists {
  readonly closed: ItemGroup[][] = [];
  /** Bytes between the brackets of the lists. */
  bytes = 0;
  /** Groups of the list that is being read; null outside of a list, and before its first item. */
  private open: ItemGroup[] | null = null;
  private from = 0;
  private items = 0;
  private values = 0;

  /**
   * @param at position after the opening bracket, or of the comma before the item @param values number of values so
   * far, including the item
   */
  addItem(at: number, { isFirst, values }: { readonly isFirst: boolean; readonly values: number }): void {
    if (isFirst) {
      this.open = [];
      this.start(at, values - 1);
    } else if (at - this.from >= GROUP_BYTES) {
      this.end(at, values - 1);
      this.start(at + 1, values - 1);
    }
    this.items += 1;
  }

  close(at: number, values: number): void {
    if (this.open === null) return;
    this.end(at, values);
    this.closed.push(this.open);
    this.open = null;
  }

  private start(at: number, values: number): void {
    this.from = at;
    this.items = 0;
    this.values = values;
  }

  private end(at: number, values: number): void {
    this.open?.push({ from: this.from, to: at, items: this.items, values: values - this.values });
    this.bytes += at - this.from;
  }
}

function excessOf(where: string, most: number): string {
  return `must have at most ${most} values ${where}(members and list items, at any depth)`;
}

function byteExcess(where: string, most: number): string {
  return `must have at most ${most} bytes ${where}`;
}
