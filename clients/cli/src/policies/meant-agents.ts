import type { FieldFault, GovernanceClient } from '../../../typescript/src/index.js';
import { seenBy } from '../decision-text.js';
import { meantText } from '../similar-names.js';
import type { PolicyFiles } from './policy-files.js';

const MAX_PAGE_SIZE = 1_000;
/** Maximum number of agents that are read, to save the rate limit. */
const MAX_READ = 5_000;
/** The service's fault of a test about an agent that does not exist. */
const ASKER = /^tests\[(\d+)\]\.agent$/;

/**
 * Returns the faults of a plan. If a test names an agent that does not exist, its fault says which one was probably
 * meant, if the key may read agents.
 */
export async function withMeantAgents(
  governance: GovernanceClient,
  set: PolicyFiles,
  faults: readonly FieldFault[],
): Promise<readonly FieldFault[]> {
  if (!faults.some(({ field }) => ASKER.test(field))) return faults;
  const names = [...set.agents.map(({ name }) => name), ...(await registeredNames(governance))];
  return faults.map((fault) => {
    const [, index] = ASKER.exec(fault.field) ?? [];
    const name = index === undefined ? undefined : set.tests[Number(index)]?.agent;
    const suggestion = typeof name === 'string' ? meantText(name, names) : '';
    return suggestion === '' ? fault : { ...fault, message: `${fault.message}.${suggestion}` };
  });
}

async function registeredNames(governance: GovernanceClient): Promise<string[]> {
  const names: string[] = [];
  if (!(await seenBy(governance))('read')) return names;
  for await (const { name } of governance.pages('/api/v1/agents', { query: { limit: MAX_PAGE_SIZE } })) {
    names.push(name);
    if (names.length === MAX_READ) break;
  }
  return names;
}
