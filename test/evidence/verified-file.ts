import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';

export async function decisionFileOf(app: TestApp, { id }: { readonly id: string }): Promise<string> {
  return (await send(app, 'GET', `/api/v1/executions/${id}/evidence`)).text;
}

/** What the offline verifier says of a decision file. @param log an export to hold it against. */
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
