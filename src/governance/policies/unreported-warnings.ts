import { yieldBetween } from '../../core/concurrency/time-slice';
import { policyWarnings } from './content-warnings';
import type { Policy } from './policy.entity';

/** Most log lines per start, and most warnings per line. */
const MAX_LOG_LINES = 20;
const MAX_WARNINGS_PER_LINE = 5;

/**
 * Returns log lines about policies that match less than they seem to, because this version no longer accepts some of
 * their texts. Leaves out a policy's stored `warnings`. Denials come first.
 */
export async function unreportedWarnings(policies: readonly Policy[]): Promise<string[]> {
  const lines: string[] = [];
  const denyingFirst = [...policies].sort(
    (left, right) => Number(right.effect === 'deny') - Number(left.effect === 'deny'),
  );
  for await (const policy of yieldBetween(denyingFirst)) {
    const newWarnings = policyWarnings(policy).filter((warning) => !policy.warnings.includes(warning));
    if (newWarnings.length > 0) lines.push(lineOn(policy, newWarnings));
  }
  if (lines.length <= MAX_LOG_LINES) return lines;
  return [
    ...lines.slice(0, MAX_LOG_LINES),
    `${lines.length - MAX_LOG_LINES} more policies match less than they seem to.`,
  ];
}

function lineOn({ name, version, effect }: Policy, warnings: readonly string[]): string {
  const more = warnings.length - MAX_WARNINGS_PER_LINE;
  const listed = more > 0 ? [...warnings.slice(0, MAX_WARNINGS_PER_LINE), `So do ${more} more.`] : warnings;
  return `The policy "${name}" (version ${version}, ${effect}) matches less than it seems to; replace it with a new version. ${listed.join(' ')}`;
}
