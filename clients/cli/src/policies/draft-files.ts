import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireAgent } from '../require-agent.js';
import { counted, plain, printLine } from '../output.js';
import { client, SettingsError } from '../settings.js';
import { draftedFile, draftedPolicies, type ObservedExecution } from './drafted-policies.js';
import { policyFileName } from './pulled-policy.js';

export interface DraftOptions {
  readonly agent: string;
  /** Length of the period in milliseconds. */
  readonly since: number;
  readonly out: string;
}

/** Writes a file for each policy; overwrites none. */
export async function draft({ agent, since, out }: DraftOptions): Promise<void> {
  const governance = client();
  const executions: ObservedExecution[] = [];
  const query = { agentId: agent, from: new Date(Date.now() - since).toISOString() };
  for await (const execution of governance.pages('/api/v1/executions', { query }))
    if (execution.observed === true && execution.erased !== true) executions.push(execution);
  if (executions.length === 0) {
    await requireAgent(governance, agent);
    throw new SettingsError(`Nothing that ${plain(agent)} did in that time was let through because it was observed.`);
  }
  const takenNames = new Set<string>();
  const files = draftedPolicies(executions).map((policy) => {
    const name = policyFileName(policy.policy, takenNames);
    takenNames.add(name.toLowerCase());
    return { path: join(out, name), text: draftedFile(policy) };
  });
  const there = files.filter(({ path }) => existsSync(path));
  if (there.length > 0)
    throw new SettingsError(
      `Nothing was written, as there are files of these names: ${plain(there.map(({ path }) => path).join(', '))}. Choose another --out.`,
    );
  mkdirSync(out, { recursive: true });
  for (const { path, text } of files) writeFileSync(path, text, { flag: 'wx' });
  const from = counted(executions.length, 'observed execution');
  printLine(`${counted(files.length, 'policy', 'policies')} from ${from} written to ${plain(out)}.`);
  printLine(`Read them, then: gov policies plan ${plain(out)}`);
}
