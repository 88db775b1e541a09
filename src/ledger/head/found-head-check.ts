import type { Configuration } from '../../core/config/configuration';
import type { FoundDatabase } from '../database/start-condition';
import { firstRow } from '../schema/schema-version';

const SELECT_TIME = `SELECT "timestamp" FROM "ledger_head" WHERE "id" = 1`;

/**
 * Refuses, before any migration, a database whose last entry is too far ahead of the clock. Until the clock caught up,
 * ledger time would stand still, and deadlines and retention would be computed from a wrong time.
 * @throws HeadAheadError unless the operator has accepted exactly that time.
 */
export async function refuseHeadAhead(configuration: Configuration, found: FoundDatabase): Promise<void> {
  const headTime = (await firstRow<{ timestamp: unknown }>(found, SELECT_TIME))?.timestamp;
  if (typeof headTime !== 'string' || headTime === configuration.acceptedHeadTime) return;
  const now = await timeOf(found);
  const ahead = Date.parse(headTime) - now;
  // NaN: a damaged time is reported elsewhere.
  if (!(ahead > configuration.maxClockStep)) return;
  throw new HeadAheadError(
    `The last entry of the database ${found.location} was written at ${headTime}, ` +
      `${Math.round(ahead / 1_000)} seconds ahead of the clock, which shows ${new Date(now).toISOString()}: one of the two is wrong. ` +
      'Set the clock right; or, if the clock is right and the entry was written with a wrong one, ' +
      `start with ACCEPT_HEAD_TIME=${headTime}: ledger time stands still until the clock has caught up.`,
  );
}

async function timeOf({ connection, dialect: { clock } }: FoundDatabase): Promise<number> {
  const [row] = (clock === null ? [] : await connection?.all<{ now: number }>(clock)) ?? [];
  return row?.now ?? Date.now();
}

/** The ledger's last entry is too far ahead of the clock. Startup ends with exit code 65. */
export class HeadAheadError extends Error {
  override readonly name = 'HeadAheadError';
}
