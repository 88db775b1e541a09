import { applyDecorators } from '@nestjs/common';
import { invalidField } from '../../core/errors/domain-error';
import type { FieldText } from './field-text';
import { CheckedBy } from './member-rule';
import { TimestampField } from './text-fields';
import { parseTimestamp } from './timestamp';

const YEARS_AHEAD = 10;

/** When something expires: in the future, at most ten years ahead. */
export function ExpiryField(field: FieldText<string>): PropertyDecorator {
  return applyDecorators(
    TimestampField({ optional: true, ...field }),
    CheckedBy('expiry', (value) => expiryFault(value, new Date())),
  );
}

/**
 * The ledger checks that it is in the future: a request replayed with its `Idempotency-Key` after that time still gets
 * its first answer. A value that is not a time is reported by another rule.
 */
function expiryFault(value: unknown, now: Date): string | undefined {
  const expiresAt = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return expiresAt === undefined || expiresAt <= latestExpiry(now) ? undefined : expiryRule(now);
}

/** ISO 8601. */
function latestExpiry(now: Date): string {
  const latest = new Date(now);
  latest.setUTCFullYear(now.getUTCFullYear() + YEARS_AHEAD);
  return latest.toISOString();
}

/** What `expiresAt` must be, as the message of a fault. */
function expiryRule(now: Date): string {
  return `must be in the future, by at most ${YEARS_AHEAD} years: up to ${latestExpiry(now)}`;
}

/**
 * Compared with the clock, as the client does: the ledger's time may be ahead of it.
 * @throws VALIDATION_ERROR
 */
export function requireAhead(expiresAt: string | undefined, now: Date): void {
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) throw invalidField('expiresAt', expiryRule(now));
}
