/**
 * Whole numbers from 0 to below a bound, the same at every run: the linear congruential generator of Numerical Recipes.
 */
export function pseudoRandom(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
