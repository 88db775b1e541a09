import { keyNames, withName } from '../agent-names.js';
import { printLine, styled } from '../output.js';
import type { Settings } from '../settings.js';
import {
  ApprovalPendingError,
  GovernanceClient,
  GovernanceError,
  type Schemas,
} from '../../../typescript/src/index.js';

type Policy = Schemas['CreatePolicyRequest'];

/** State shared by the steps: the agents and people, and what happened so far. */
export interface Stage {
  readonly settings: Settings;
  readonly operator: GovernanceClient;
  bot: GovernanceClient;
  ann: GovernanceClient;
  executionId: string;
  decisionId: string;
}

export interface Step {
  readonly title: string;
  /** A text that says what the step shows, and why that matters. */
  readonly explains: string;
  readonly run: (this: void, stage: Stage) => Promise<void>;
}

const INVOICE = { resourceType: 'document', resourceId: 'invoices/2026-0042' };
const REFUND = { action: 'refund', ...INVOICE, parameters: { amount: 80 } };

/** The first five minutes, in order: each builds on the previous ones. */
export const STEPS: readonly Step[] = [
  {
    title: 'Who is asking',
    explains:
      'invoice-bot is an agent; ann is a person of finance. Each gets a key of its own and can act as nobody else.\n' +
      'An agent can do what its capabilities name, if a policy allows it.',
    run: introduce,
  },
  {
    title: 'What the rules are',
    explains: 'Billing may send invoices. A refund needs the approval of somebody of finance. Nothing else is allowed.',
    run: setRules,
  },
  {
    title: 'Allowed',
    explains:
      'guard() is the one line around what an agent does: it asks, runs the function if it may, and reports what came of it.',
    run: sendInvoice,
  },
  {
    title: 'Denied, and why',
    explains:
      'The same agent tries a contract. No policy allows it, so the function does not run; the error says what is missing.',
    run: sendContract,
  },
  {
    title: 'Waiting for a person',
    explains: 'A refund is neither allowed nor refused. It waits for a decision, and the function does not run yet.',
    run: requestRefund,
  },
  {
    title: 'Ann decides',
    explains: 'She sees exactly what she approves: this agent, this action, this resource, these parameters.',
    run: decide,
  },
  {
    title: 'Once, and exactly that',
    explains:
      'The agent asks again with the same arguments, and proceeds. The approval is then used up, and it never covered another amount.',
    run: refundOnce,
  },
  {
    title: 'It is on record',
    explains: 'Every step is in the audit trail, with who did it. Refusals are, too.',
    run: lookBack,
  },
];

async function introduce(stage: Stage): Promise<void> {
  const bot = { name: 'invoice-bot', capabilities: ['send-invoice', 'refund'], roles: ['billing'] };
  stage.bot = await member(stage, bot, ['execute']);
  stage.ann = await member(stage, { name: 'ann', kind: 'human', roles: ['finance'] }, ['review', 'read']);
}

async function setRules({ operator }: Stage): Promise<void> {
  const commonMembers = { version: '1.0', subjects: ['role:billing'], resources: ['invoices/*'] };
  const send: Policy = { ...commonMembers, name: 'billing-may-invoice', effect: 'allow', actions: ['send-invoice'] };
  const refund: Policy = {
    ...commonMembers,
    name: 'refunds-need-finance',
    effect: 'require_approval',
    actions: ['refund'],
    approval: { approvers: [{ subjects: ['role:finance'] }] },
  };
  for (const policy of [send, refund]) {
    const { name, effect, actions } = await operator.post('/api/v1/policies', { body: policy });
    show(`policy ${name}: ${effect} ${actions.join(', ')}`);
  }
}

async function sendInvoice({ bot }: Stage): Promise<void> {
  const result = await bot.guard({ action: 'send-invoice', ...INVOICE }, () => {
    show('the function runs: the invoice is sent');
    return { sent: '2026-0042' };
  });
  good(`done and reported: ${JSON.stringify(result)}`);
}

async function sendContract({ bot }: Stage): Promise<void> {
  const contract = { action: 'send-invoice', resourceType: 'document', resourceId: 'contracts/2026-0007' };
  const error = await refusal(bot.guard(contract, () => bad('the function runs: this must not happen')));
  bad(`${error.code} (${String(error.reason)}): ${error.message}`);
}

async function requestRefund(stage: Stage): Promise<void> {
  const error = await refusal(stage.bot.guard(REFUND, () => bad('the function runs: this must not happen')));
  if (!(error instanceof ApprovalPendingError)) throw error;
  stage.executionId = error.execution.id;
  stage.decisionId = String(error.execution.decisionId);
  waits(error.message);
  const review = { path: { id: stage.decisionId }, body: { approverId: 'invoice-bot' } };
  const own = stage.bot.post('/api/v1/decisions/{id}/approve', review);
  bad(`invoice-bot tries to approve it itself: ${String((await refusal(own)).reason)}`);
}

async function decide({ ann, decisionId: id }: Stage): Promise<void> {
  const { data } = await ann.get('/api/v1/decisions', { query: { awaiting: 'ann' } });
  for (const { title, riskLevel } of data) show(`in her inbox: ${title} (risk ${riskLevel})`);
  const body = { approverId: 'ann', comment: 'The goods came back.' };
  const { status } = await ann.post('/api/v1/decisions/{id}/approve', { path: { id }, body });
  good(`${id} is ${status}`);
}

async function refundOnce({ bot, executionId: id }: Stage): Promise<void> {
  await bot.guard(REFUND, () => show('the function runs: 80 are refunded'));
  good('done and reported');
  const secondResume = await refusal(bot.post('/api/v1/executions/{id}/resume', { path: { id } }));
  bad(`taking the same approval up again: ${secondResume.message}`);
  const more = { ...REFUND, parameters: { amount: 8_000 } };
  const error = await refusal(bot.guard(more, () => bad('the function runs: this must not happen')));
  waits(`a refund of 8,000: ${error.message}`);
}

async function lookBack({ operator, executionId }: Stage): Promise<void> {
  const names = await keyNames(operator);
  const query = { subjectId: executionId, order: 'asc' } as const;
  for await (const { action, actor, timestamp } of operator.pages('/api/v1/audit', { query })) {
    show(`${timestamp}  ${action.padEnd(30)} by ${withName(actor.id, names)}`);
  }
}

/** Makes an agent or a person with a key. */
async function member(
  { operator, settings: { url } }: Stage,
  body: { name: string; kind?: 'human'; capabilities?: string[]; roles: string[] },
  scopes: ('execute' | 'review' | 'read')[],
): Promise<GovernanceClient> {
  const { id, name, kind } = await operator.post('/api/v1/agents', { body });
  const { secret } = await operator.post('/api/v1/api-keys', { body: { name, scopes, agentId: id } });
  show(`${name} (${kind}) is ${id}, with a key for ${scopes.join(' and ')}`);
  return new GovernanceClient({ url, key: secret });
}

/** @throws Error if it is not refused, which ends the tour. */
async function refusal(request: Promise<unknown>): Promise<GovernanceError> {
  try {
    await request;
  } catch (error) {
    if (error instanceof GovernanceError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

function show(text: string): void {
  printLine(`  ${text}`);
}

function good(text: string): void {
  printLine(`  ${styled('green', '✓')} ${text}`);
}

function bad(text: string): void {
  printLine(`  ${styled('red', '✗')} ${text}`);
}

function waits(text: string): void {
  printLine(`  ${styled('yellow', '…')} ${text}`);
}
