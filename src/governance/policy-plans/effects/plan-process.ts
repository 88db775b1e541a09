import { PolicyComparison, type ComparisonPart } from './comparison';

/**
 * Entry point of the process that compares two sets of policies. It receives them in parts, and responds to the last
 * one.
 */
const comparison = new PolicyComparison();

process.on('message', (part: ComparisonPart) => {
  void comparison.take(part).then((answer) => answer !== null && process.send?.(answer));
});
