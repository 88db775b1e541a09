/** Most items of lists that conditions may compare for one check, which is answered without a pause. */
export const MAX_COMPARISONS_OF_QUESTION = 5_000;
/**
 * Most such items for a check with an explanation, which also compares items for policies that fail in another part.
 */
export const MAX_COMPARISONS_OF_EXPLANATION = 50_000;
/** Most items of lists that conditions may compare for all checks of one request. */
export const MAX_COMPARISONS_OF_REQUEST = 1_000_000;

/** Returns why a check is refused that needs more than `most` comparisons. */
export function listsFault(most = MAX_COMPARISONS_OF_QUESTION): string {
  return `must have shorter lists: the conditions of policies on each item of a list would compare more than ${most} items`;
}

/** Returns why a list of checks is refused whose first `questions` need more comparisons than a request may. */
export function comparisonsFault(questions: number): string {
  return (
    `must be fewer, or have shorter lists: for the first ${questions} of them, the conditions of policies on each item of a list ` +
    `would compare more than ${MAX_COMPARISONS_OF_REQUEST} items`
  );
}
