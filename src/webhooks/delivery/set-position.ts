import { randomInt } from 'node:crypto';
import { quoted } from '../../database/dialect';
import type { SideWrite } from '../../ledger/ledger-transaction';
import type { DeliveryProgress } from './delivery-progress.entity';

const START =
  `INSERT INTO "webhook_standings" ("webhookId", "sequence", "replayHead", "epoch", "term", "attempts") ` +
  `VALUES ($1, $2, $3, $4, 0, 0)`;
const REPLAY =
  `${START} ON CONFLICT ("webhookId") DO UPDATE SET "sequence" = excluded."sequence", ` +
  `"replayHead" = excluded."replayHead", "epoch" = excluded."epoch", "attempts" = 0, ` +
  `"failingSince" = NULL, "failingSequence" = NULL, "failingUrl" = NULL, "nextAttemptAt" = NULL`;
/** The row says whether the endpoint was given up: what a caller has read before may be outdated. */
const RESUME =
  `${START} ON CONFLICT ("webhookId") DO UPDATE SET "epoch" = excluded."epoch", ` +
  `"attempts" = ${unlessGivenUp('attempts', '0')}, "failingSince" = ${unlessGivenUp('failingSince', 'NULL')}, ` +
  `"failingSequence" = ${unlessGivenUp('failingSequence', 'NULL')}, ` +
  `"failingUrl" = ${unlessGivenUp('failingUrl', 'NULL')}, "nextAttemptAt" = ${unlessGivenUp('lastAttemptAt', 'NULL')}`;
const SELECT_EPOCH = `SELECT "epoch" AS "found" FROM "webhook_standings" WHERE "webhookId" = $1`;
/** Epochs are random: a count that goes on after a lost commit could be what another process has set in its place. */
const EPOCHS = 2 ** 47;

/**
 * Has an endpoint continue after this sequence, whatever has become of it.
 *
 * @param head the ledger's last sequence: up to there, the filter of now chooses what is delivered.
 */
export function replayed(webhookId: string, after: number, head: number): SideWrite {
  return { sql: REPLAY, parameters: [webhookId, after, head, newEpoch()], proof: proofFor(webhookId) };
}

/**
 * Has an endpoint tried at once, with its failures cleared if it was given up. What is under way is of the past.
 *
 * @param start the position of an endpoint that has none yet.
 */
export function resumed(webhookId: string, start: number): SideWrite {
  return { sql: RESUME, parameters: [webhookId, start, null, newEpoch()], proof: proofFor(webhookId) };
}

function newEpoch(): number {
  return randomInt(1, EPOCHS);
}

function proofFor(webhookId: string): SideWrite['proof'] {
  return { sql: SELECT_EPOCH, parameters: [webhookId] };
}

/** An endpoint that is to be tried again has a time for it. */
function unlessGivenUp(column: keyof DeliveryProgress, otherwise: string): string {
  const [next, kept] = ['nextAttemptAt', column].map((name) => `"webhook_standings".${quoted(name)}`);
  return `CASE WHEN ${next} IS NULL THEN ${otherwise} ELSE ${kept} END`;
}
