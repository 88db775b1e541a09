import { PolicyComparison, type ComparisonPart } from './comparison';

/**
 * The entry point of the process that compares two sets of policies: it receives them in parts and answers the last one.
 */
const comparison = new PolicyComparison();

process.on('message', (part: ComparisonPart) => {
  const answer = comparison.take(part);
  if (answer !== null) process.send?.(answer);
});
