import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DraftOptions } from '../commands/draft.js';
import { requireAgent } from '../commands/list.js';
import { counted, plain, printLine } from '../output.js';
import { client, SettingsError } from '../settings.js';
import { draftedFile, draftedPolicies, type ObservedExecution } from './drafted-policies.js';
import { policyFileName } from './pulled-policy.js';

/** Writes a file for each policy; overwrites none. */
export async function draft({ agent, since, out }: DraftOptions): Promise<void> {
  const governance = client();
  const observed: ObservedExecution[] = [];
  const query = { agentId: agent, from: new Date(Date.now() - since).toISOString() };
  for await (const execution of governance.pages('/api/v1/executions', { query }))
    if (execution.observed === true && execution.erased !== true) observed.push(execution);
  if (observed.length === 0) {
    await requireAgent(governance, agent);
    throw new SettingsError(`Nothing that ${plain(agent)} did in that time was let through because it was observed.`);
  }
  const taken = new Set<string>();
  const files = draftedPolicies(observed).map((drafted) => {
    const name = policyFileName(drafted.policy, taken);
    taken.add(name.toLowerCase());
    return { path: join(out, name), text: draftedFile(drafted) };
  });
  const there = files.filter(({ path }) => existsSync(path));
  if (there.length > 0)
    throw new SettingsError(
      `Nothing was written, as there are files of these names: ${plain(there.map(({ path }) => path).join(', '))}. Choose another --out.`,
    );
  mkdirSync(out, { recursive: true });
  for (const { path, text } of files) writeFileSync(path, text, { flag: 'wx' });
  const from = counted(observed.length, 'observed execution');
  printLine(`${counted(files.length, 'policy', 'policies')} from ${from} written to ${plain(out)}.`);
  printLine(`Read them, then: gov policies plan ${plain(out)}`);
}
