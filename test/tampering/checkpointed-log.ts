import type { StoredEntry } from '../../src/ledger/chain/stored-entry';
import type { TestApp } from '../support/application/create-test-app';
import { addClaim, createEntity } from '../support/application/factories';
import { send, type Parsed } from '../support/application/send';
import { withOtherState } from './altered-ledger';

export const PROVENANCE = '/api/v1/provenance';
export const LENGTH = 300;
/** Tables that an attacker who rewrites history alters. */
export const TABLES = ['ledger_entries', 'ledger_head', 'ledger_tree_nodes'];

export async function fill(app: TestApp, length = LENGTH): Promise<void> {
  const { id } = await createEntity(app);
  for (let made = 1; made < length; made += 1) await addClaim(app, id, { value: made });
}

export async function verify(app: TestApp, checkpoint?: string): Promise<Parsed> {
  const { status, body } = await send(app, 'POST', `${PROVENANCE}/verify`, { body: checkpoint ? { checkpoint } : {} });
  expect(status).toBe(200);
  return body;
}

export async function keep(app: TestApp): Promise<string> {
  return (await send(app, 'GET', `${PROVENANCE}/checkpoint`)).body.checkpoint;
}

/** Leaves the first entries unchanged. */
export function only(length: number): (entry: StoredEntry) => StoredEntry | null {
  return (entry) => (entry.sequence <= length ? entry : null);
}

export function withForgery(sequence: number): (entry: StoredEntry) => StoredEntry {
  return (entry) => (entry.sequence === sequence ? withOtherState({ ...entry, reason: 'forged' }) : entry);
}
