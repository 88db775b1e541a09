import type { MaybeJson } from './operand';

/** Most characters of all texts of a list that are read as paths or hosts: each is normalised, decoded and parsed. */
const MAX_READ_CHARACTERS = 65_536;

/** True if a condition reads texts as paths, URLs or hosts, and these values of a list have too many characters. */
export function readsTooMuch(op: string, values: readonly MaybeJson[]): boolean {
  return (op === 'within' || op === 'domain') && charactersIn(values) > MAX_READ_CHARACTERS;
}

function charactersIn(values: readonly MaybeJson[]): number {
  return values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}
