const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const NUMBERS = new Intl.NumberFormat('en');
const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const SHORT = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

export function numberText(value: number): string {
  return NUMBERS.format(value);
}

/** `1 entry`, `2 entries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** A length of time in the two units that matter, such as `3 h 12 min`. */
export function durationText(milliseconds: number): string {
  const rest = Math.max(0, milliseconds);
  if (rest < MINUTE) return `${Math.floor(rest / 1_000)} s`;
  if (rest < HOUR) return `${Math.floor(rest / MINUTE)} min`;
  if (rest < DAY) return joined(Math.floor(rest / HOUR), 'h', Math.floor((rest % HOUR) / MINUTE), 'min');
  return joined(Math.floor(rest / DAY), 'd', Math.floor((rest % DAY) / HOUR), 'h');
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** In the reader's zone. */
export function localTime(iso: string): string {
  return LOCAL.format(new Date(iso));
}

export function shortTime(iso: string): string {
  return SHORT.format(new Date(iso));
}

/** As the ledger has it. */
export function utcTime(iso: string): string {
  return `${iso.replace('T', ' ').replace(/\.\d+Z$|Z$/, '')} UTC`;
}

export function agoText(iso: string, now: number): string {
  const passed = now - Date.parse(iso);
  return passed < 5_000 ? 'just now' : `${durationText(passed)} ago`;
}

/** `a`, `a or b`, `a, b or c`. */
export function listText(items: readonly string[], word: 'and' | 'or'): string {
  if (items.length <= 1) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1) ?? ''}`;
}

/** The words of an identifier such as `pending_approval`. */
export function words(identifier: string): string {
  return identifier.replaceAll('_', ' ');
}
