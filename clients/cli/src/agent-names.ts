import type { GovernanceClient } from '../../typescript/src/index.js';

/** Maps ids to names. A record without a name here is shown by its id. */
export type AgentNames = ReadonlyMap<string, string>;

/** Maximum number of agents that are read one by one: beyond it, reading all takes fewer requests. */
const MAX_SINGLE = 3;
const MAX_PAGE_SIZE = 1_000;
const AGENT_ID = /^agt_[0-9A-Z]{26}$/;
const KEY_ID = /^key_[0-9A-Z]{26}$/;

export function isKeyId(id: string): boolean {
  return KEY_ID.test(id);
}

export function isAgentId(id: string | null): id is string {
  return id !== null && AGENT_ID.test(id);
}

/**
 * The id and the name, such as `agt_… (bot)`, or the id alone if the name is not known. The id comes first: no name can
 * imitate it.
 */
export function withName(id: string, names: AgentNames): string {
  const name = names.get(id);
  return name === undefined ? id : `${id} (${name})`;
}

/** The names of agents, for a key with the scope `read`. */
export async function agentNames(governance: GovernanceClient, ids: readonly (string | null)[]): Promise<AgentNames> {
  const distinctIds = new Set(ids.filter((id) => id !== null));
  const names = new Map<string, string>();
  if (distinctIds.size <= MAX_SINGLE) {
    const lookups = [...distinctIds].map((id) => governance.get('/api/v1/agents/{id}', { path: { id }, query: {} }));
    for (const { id, name } of await Promise.all(lookups)) names.set(id, name);
    return names;
  }
  for await (const { id, name } of governance.pages('/api/v1/agents', { query: { limit: MAX_PAGE_SIZE } })) {
    if (distinctIds.delete(id)) names.set(id, name);
    if (distinctIds.size === 0) break;
  }
  return names;
}

/** The name of a key, for a key with the scope `admin`. */
export async function keyName(governance: GovernanceClient, id: string): Promise<AgentNames> {
  const { name } = await governance.get('/api/v1/api-keys/{id}', { path: { id } });
  return new Map([[id, name]]);
}

/** The names of the newest keys, for a key with the scope `admin`. */
export async function keyNames(governance: GovernanceClient): Promise<AgentNames> {
  const { data } = await governance.get('/api/v1/api-keys', { query: { order: 'desc', limit: MAX_PAGE_SIZE } });
  return new Map(data.map(({ id, name }) => [id, name]));
}
