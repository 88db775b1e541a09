import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';

/** The decision file of an execution, or of the decision on a change. */
export async function decisionFileOf(app: TestApp, { id }: { readonly id: string }): Promise<string> {
  const records = id.startsWith('dec_') ? 'decisions' : 'executions';
  return (await send(app, 'GET', `/api/v1/${records}/${id}/evidence`)).text;
}

/** Runs the offline verifier on a decision file. @param log an export to compare it with. */
export async function verifyFile(text: string, publicKey: string, log?: string): Promise<VerifierRun> {
  const folder = mkdtempSync(join(tmpdir(), 'decision-file-'));
  const file = join(folder, 'one.evidence.json');
  writeFileSync(file, text);
  const exported = join(folder, 'log.jsonl');
  if (log !== undefined) writeFileSync(exported, log);
  try {
    return await runVerifier([file, '--public-key', publicKey, ...(log === undefined ? [] : ['--export', exported])]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The public key of the log, and an export of it. */
export async function keyAndLog(app: TestApp): Promise<{ publicKey: string; log: string }> {
  const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
  return { publicKey, log: (await send(app, 'GET', '/api/v1/provenance/export')).text };
}

/** Runs the verifier on the decision file of a change, and compares it with an export. */
export async function verifyChange(app: TestApp, id: string): Promise<VerifierRun> {
  const text = await decisionFileOf(app, { id });
  const { publicKey, log } = await keyAndLog(app);
  return verifyFile(text, publicKey, log);
}
