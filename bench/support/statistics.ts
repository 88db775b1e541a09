/** Returns the value below which a fraction of the values lies, by the nearest rank. */
export function percentile(values: readonly number[], fraction: number): number {
  const ascending = Float64Array.from(values).sort();
  const rank = Math.max(0, Math.ceil(fraction * ascending.length) - 1);
  return ascending[rank] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const ascending = [...values].sort((first, second) => first - second);
  const [low, high] = [ascending[Math.ceil(ascending.length / 2) - 1], ascending[Math.floor(ascending.length / 2)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** The ratio of two things, round by round. */
export interface Ratio {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** Each round's first value divided by the same round's second: anything that slowed down a whole round cancels out. */
export function ratioOf(values: readonly number[], reference: readonly number[]): Ratio {
  const ratios = values.map((value, round) => value / (reference[round] ?? Number.NaN));
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}
