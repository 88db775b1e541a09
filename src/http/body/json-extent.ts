/** The most values that a body may have, and each item of a list in a body that may have more in all. */
const MOST_VALUES = 10_000;

/** How much JSON contains; where that is too much, as far as it was read. */
interface BodyExtent {
  /** Members and elements at any depth. */
  readonly values: number;
  /** How deep it is nested. */
  readonly levels: number;
  /** What has too many values; undefined if nothing has. */
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

/**
 * Counts the values of a body in its bytes, before anything is built from them: members and elements at any depth. With
 * `mostInAll` above {@link MOST_VALUES}, that bound holds for each item of the lists that are members of the body, and
 * for everything outside these items. Of bytes that are not JSON the result means nothing.
 */
export function extentOf(bytes: Uint8Array, mostInAll = MOST_VALUES): BodyExtent {
  const hasItems = mostInAll > MOST_VALUES;
  let [level, levels] = [0, 0];
  let [all, outside, inItem, item] = [0, 0, 0, 0];
  let [isInText, isFirst, isInList] = [false, false, false];
  for (let index = 0; index < bytes.length; index += 1) {
    const code = bytes[index] ?? 0;
    if (isInText) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) isInText = false;
      continue;
    }
    if (code <= LAST_SPACE) continue;
    const isEnd = code === CLOSE_BRACE || code === CLOSE_BRACKET;
    if (code === COMMA || (isFirst && !isEnd)) {
      all += 1;
      const isItem = hasItems && isInList && level === 2;
      if (isItem) [item, inItem] = [item + 1, 0];
      else if (hasItems && isInList && level > 2) inItem += 1;
      else outside += 1;
      if (all > mostInAll) return { values: all, levels, excess: excessOf('', mostInAll) };
      if (outside > MOST_VALUES)
        return { values: all, levels, excess: excessOf(hasItems ? 'outside its items ' : '', MOST_VALUES) };
      if (inItem > MOST_VALUES)
        return { values: all, levels, excess: excessOf(`in item ${item} of a list `, MOST_VALUES) };
    }
    isFirst = false;
    if (code === QUOTE) isInText = true;
    else if (isEnd) level -= 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      isFirst = true;
      level += 1;
      if (level > levels) levels = level;
      if (level === 2) [isInList, item] = [code === OPEN_BRACKET, 0];
    }
  }
  return { values: all, levels, excess: undefined };
}

function excessOf(where: string, most: number): string {
  return `must have at most ${most} values ${where}(members and list items, at any depth)`;
}
