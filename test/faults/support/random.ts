/** Choices that a seed reproduces. */
export interface Random {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  pick<Value>(values: readonly Value[]): Value;
  /** True for the given share of calls. */
  chance(share: number): boolean;
}

/** The choices of one test or client: the same for the same FAULT_SEED and label, whatever ran before. */
export function randomFor(label: string): Random {
  return seededRandom(`${process.env['FAULT_SEED'] ?? '1'}:${label}`);
}

/** The choices that belong to a text: always the same. */
export function seededRandom(seed: string): Random {
  const next = mulberry32(textHash(seed));
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    pick: (values) => {
      if (values.length === 0) throw new Error('There is nothing to pick from.');
      return values[below(values.length)] as (typeof values)[number];
    },
    chance: (share) => next() < share,
  };
}

/** FNV-1a, 32 bits. */
function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}

/** Tommy Ettinger's Mulberry32: numbers from 0 to below 1. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
