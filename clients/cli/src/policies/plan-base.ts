import { createHash } from 'node:crypto';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';
import { seenBy } from '../decision-text.js';
import { SettingsError } from '../settings.js';
import type { AgentChange } from './file-agents.js';

/** Length of the digest of the agents, in hexadecimal digits. */
const DIGEST_LENGTH = 32;

export const NO_LONGER =
  'No policy was applied: the policies in force are no longer those of the plan. Plan again, and look at it.';
const OTHER_AGENTS =
  'Nothing was applied: the agents in the files are not, or no longer, those of this base. Plan again, look at it, and give the whole base that it shows.';

/**
 * Returns the base of a plan: the policies in force and, if the files have agents, these agents as they are registered.
 */
export function baseOf({ base }: Pick<Schemas['PolicyPlanResponse'], 'base'>, agents: readonly AgentChange[]): string {
  if (agents.length === 0) return base;
  const revisions = agents.map(({ agent: { name }, registered }) => [name, registered?.revision ?? null]);
  const digest = createHash('sha256').update(JSON.stringify(revisions.sort())).digest('hex');
  return `${base}.${digest.slice(0, DIGEST_LENGTH)}`;
}

/** @throws SettingsError unless the base is that of the plan. */
export function requireBase(
  base: string,
  planned: Pick<Schemas['PolicyPlanResponse'], 'base'>,
  agents: readonly AgentChange[],
): void {
  if (base === baseOf(planned, agents)) return;
  throw new SettingsError(base.split('.')[0] === planned.base ? OTHER_AGENTS : NO_LONGER);
}

/**
 * Checks the scopes before anything is changed.
 * @returns true if the key may change policies
 * @throws SettingsError which names all that are missing
 */
export async function requireScopes(
  governance: GovernanceClient,
  { isOfPolicies, agents }: { readonly isOfPolicies: boolean; readonly agents: readonly AgentChange[] },
): Promise<boolean> {
  const changedKinds = agents.filter(({ change }) => change !== 'keep').map(({ agent: { kind } }) => kind);
  const neededScopes = [
    ...(isOfPolicies ? [{ scope: 'policies', why: 'policies change' }] : []),
    ...(changedKinds.includes('machine') ? [{ scope: 'agents', why: 'agents are registered or changed' }] : []),
    ...(changedKinds.includes('human') ? [{ scope: 'admin', why: 'people are registered or changed' }] : []),
  ];
  const has = await seenBy(governance);
  const missingScopes = neededScopes.filter(({ scope }) => !has(scope)).map(({ scope, why }) => `${scope} (${why})`);
  if (missingScopes.length > 0)
    throw new SettingsError(`Nothing was applied: the key lacks the scope ${missingScopes.join(' and ')}.`);
  return has('policies');
}
