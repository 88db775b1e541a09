import { applyDecorators } from '@nestjs/common';
import { CheckedBy } from '../../http/validation/member-rule';
import { TimestampField } from '../../http/validation/text-fields';
import { parseTimestamp } from '../../http/validation/timestamp';

const YEARS_AHEAD = 10;

/** When a decision that nobody settled expires: ahead, at most ten years. */
export function ExpiryField(): PropertyDecorator {
  return applyDecorators(
    TimestampField({
      optional: true,
      description: 'From this moment on the decision can no longer be reviewed. Ahead, at most ten years; with a zone.',
    }),
    CheckedBy('expiry', (value) => expiryFault(value, new Date())),
  );
}

/** A value that is no time at all is another rule's to blame. */
function expiryFault(value: unknown, now: Date): string | undefined {
  const expiresAt = typeof value === 'string' ? parseTimestamp(value) : undefined;
  if (expiresAt === undefined) return undefined;
  const time = Date.parse(expiresAt);
  const latest = new Date(now);
  latest.setUTCFullYear(now.getUTCFullYear() + YEARS_AHEAD);
  return time > now.getTime() && time <= latest.getTime()
    ? undefined
    : `must be ahead of now, at most ${YEARS_AHEAD} years: up to ${latest.toISOString()}`;
}
