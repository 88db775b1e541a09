import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DocumentedOperation, operationsOf } from './api-document';
import { ROOT } from '../documents/markdown';
import type { Parsed } from '../application/send';

/** Sends a POST below `/api/v1/` that must succeed, and returns the record. */
export type Make = (path: string, body: object) => Promise<Parsed>;

/** A path below `/api/v1/`, and a body. */
export type PostRequest = readonly [path: string, body: object];

export interface PostCase {
  /** The id of an operation of the document, or a variant of it. */
  readonly operation: string;
  /** Creates what the request needs; `word` is unique to it. Sent once, the request has an effect. */
  readonly request: (make: Make, word: string, ids: Ids) => Promise<PostRequest>;
}

/**
 * Agents that the requests need; `bot` may do `succeed`, `hang`, `wait` and `act`, and `ask` once `approver` approves.
 */
export interface Ids {
  readonly bot: string;
  readonly approver: string;
}

/** Operations that leave no entry. */
export const WITHOUT_ENTRY: ReadonlySet<string> = new Set(['webhooks_replay', 'webhooks_resume']);

const EVERYTHING = { version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
const ASK_FIRST = {
  ...{ ...EVERYTHING, name: 'ask first', effect: 'require_approval', actions: ['ask'], priority: 1 },
  approval: { approvers: [{ subjects: ['agent:approver'] }], grant: { for: 'PT1H' } },
};
const NOTHING = { version: '1', effect: 'deny', subjects: ['x'], actions: ['x'], resources: ['x'] };

const REQUESTS: Readonly<Record<string, PostCase['request']>> = {
  entities_create: async (_make, word) => ['entities', { type: word, name: 'x' }],
  claims_add: async (make, word) => {
    const { id } = await make('entities', { type: 'subject', name: word });
    return [`entities/${id}/claims`, { predicate: word, value: 1 }];
  },
  agents_create: async (_make, word) => ['agents', { name: word }],
  agents_suspend: async (make, word) => [`agents/${(await make('agents', { name: word })).id}/suspend`, {}],
  agents_resume: async (make, word) => {
    const { id } = await make('agents', { name: word });
    await make(`agents/${id}/suspend`, {});
    return [`agents/${id}/resume`, {}];
  },
  policies_create: async (_make, word) => ['policies', { ...NOTHING, name: word }],
  policies_activate: async (make, word) => {
    const { id } = await make('policies', { ...NOTHING, name: word });
    await make('policies', { ...NOTHING, name: word, version: '2' });
    return [`policies/${id}/activate`, {}];
  },
  policies_deactivate: async (make, word) => {
    const { id } = await make('policies', { ...NOTHING, name: word });
    return [`policies/${id}/deactivate`, {}];
  },
  policySets_apply: async (make, word) => {
    const policies = [{ ...NOTHING, name: word }];
    const { base } = await make('policies/plan', { policies });
    return ['policies/apply', { base, policies }];
  },
  decisions_propose: async (_make, word, { bot }) => ['decisions', decision(word, bot)],
  decisions_approve: async (make, word, { bot, approver }) => {
    const { id } = await make('decisions', decision(word, bot));
    return [`decisions/${id}/approve`, { approverId: approver }];
  },
  decisions_approveTogether: async (make, word, { bot, approver }) => {
    const { id } = await make('decisions', decision(word, bot));
    return ['decisions/approve', { decisions: [{ id, actionHash: null }], approverId: approver }];
  },
  decisions_reject: async (make, word, { bot }) => {
    const { id } = await make('decisions', decision(word, bot));
    return [`decisions/${id}/reject`, { reason: word }];
  },
  decisions_cancel: async (make, word, { bot }) => {
    const { id } = await make('decisions', decision(word, bot));
    return [`decisions/${id}/cancel`, { reason: word }];
  },
  executions_report: async (make, word) => {
    const { id } = await make('agents/bot/execute', action('act', word));
    return [`executions/${id}/result`, { outcome: 'executed', result: word }];
  },
  approvals_resume: async (make, word, { approver }) => {
    const { id, decisionId } = await make('agents/bot/execute', action('ask', word));
    await make(`decisions/${decisionId}/approve`, { approverId: approver });
    return [`executions/${id}/resume`, {}];
  },
  approvals_cancel: async (make, word) => {
    const { id } = await make('agents/bot/execute', action('ask', word));
    return [`executions/${id}/cancel`, { reason: word }];
  },
  approvals_cancelRun: async (make, word) => {
    await make('agents/bot/execute', { ...action('ask', word), run: word });
    return ['executions/cancel', { agentId: 'bot', run: word }];
  },
  grants_revoke: async (make, word, { approver }) => {
    const { id, decisionId } = await make('agents/bot/execute', action('ask', word));
    await make(`decisions/${decisionId}/approve`, { approverId: approver, grant: { for: 'PT1H' } });
    await make(`executions/${id}/resume`, {});
    const { grantId } = await make('agents/bot/execute', action('ask', word));
    return [`grants/${grantId}/revoke`, { reason: word }];
  },
  apiKeys_revoke: async (make, word) => {
    const { id } = await make('api-keys', { name: word, scopes: ['read'] });
    return [`api-keys/${id}/revoke`, { reason: word }];
  },
  stops_create: async (_make, word) => ['stops', { actions: [word], reason: word }],
  stops_lift: async (make, word) => {
    const { id } = await make('stops', { actions: [word], reason: word });
    return [`stops/${id}/lift`, { reason: word }];
  },
  erasures_create: async (make, word) => {
    const { id } = await make('entities', { type: word, name: 'x' });
    return ['erasures', { subjects: [{ type: 'entity', id }], reason: word }];
  },
  webhooks_replay: async (make, word) => [`webhooks/${(await make('webhooks', hook(word))).id}/replay`, { after: 0 }],
  webhooks_resume: async (make, word) => [`webhooks/${(await make('webhooks', hook(word))).id}/resume`, {}],
  execute_action: async (_make, word) => ['agents/bot/execute', action('succeed', word)],
  'execute_action, refused': async (_make, word) => ['agents/bot/execute', action('unknown', word)],
};

/**
 * A person's own, signed with what only that person has, or with a person's key: test/approvals/passkeys.e2e-spec.ts,
 * test/approvals/delegations.e2e-spec.ts and test/policies/access-reviews.e2e-spec.ts send them.
 */
const OF_PEOPLE: ReadonlySet<string> = new Set([
  ...['passkeys_register', 'passkeys_remove', 'access_review', 'delegations_create', 'delegations_end'],
]);

/** A case for every POST of the document that takes an `Idempotency-Key`; throws if one of them has none. */
export function everyPost(): PostCase[] {
  const document = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
  const operations = operationsOf(document).filter(takesIdempotencyKey);
  const missing = operations.filter(({ id }) => REQUESTS[id] === undefined && !OF_PEOPLE.has(id)).map(({ id }) => id);
  if (missing.length > 0) throw new Error(`There is no request of ${missing.join()} in every-post.ts.`);
  return Object.entries(REQUESTS).map(([operation, request]) => ({ operation, request }));
}

/** Answers with a secret are not stored. */
function takesIdempotencyKey({ operation }: DocumentedOperation): boolean {
  return (operation.parameters ?? []).some((parameter) => 'name' in parameter && parameter.name === 'Idempotency-Key');
}

/** Creates what all the requests share. */
export async function prepareEveryPost(make: Make): Promise<Ids> {
  await make('policies', { ...EVERYTHING, name: 'open' });
  await make('policies', ASK_FIRST);
  const bot = await make('agents', { name: 'bot', capabilities: ['succeed', 'hang', 'wait', 'act', 'ask'] });
  const approver = await make('agents', { name: 'approver' });
  return { bot: bot.id, approver: approver.id };
}

/** The body of an execute request. */
export function action(name: string, resourceId: string, parameters: object = {}): object {
  return { action: name, resourceType: 'word', resourceId, parameters };
}

function decision(type: string, proposedBy: string): object {
  return { type, title: 'x', proposedBy, riskLevel: 'low' };
}

/** A webhook that no entry matches, at an address that does not exist. */
function hook(word: string): object {
  return { url: `https://${word}.invalid/`, actions: ['none'] };
}
