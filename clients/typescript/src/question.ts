import type { Schemas } from './api-types.js';
import { canonicalJson, digestOf } from './canonical-json.js';
import { sleep } from './sleep.js';
import type { SentRequest } from './transport.js';

/** A question that an agent asks people. */
export interface Question {
  /** At most 200 characters. */
  readonly title: string;
  /** At most 2,000 characters. */
  readonly question: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

export interface QuestionOptions {
  /** Id or name of the asking agent. Default: the agent that the key is bound to. */
  readonly agent?: string;
  /** The conversation or task that the question is part of. */
  readonly run?: string;
  /** The people who may answer, as policies name approvers. Default: any person (`*`). */
  readonly subjects?: readonly string[];
  /** Seconds to wait for the answer. Default: 0. */
  readonly wait?: number;
  readonly signal?: AbortSignal;
}

type Decision = Schemas['DecisionResponse'];

/** The decision on a question, and what it means, for the model that asked. */
export interface QuestionAnswer {
  readonly decision: Decision;
  readonly text: string;
}

/** Sends a request. @throws GovernanceError */
type SendJson = (request: SentRequest) => Promise<unknown>;

export const MAX_TITLE = 200;
export const MAX_QUESTION = 2_000;
/** Questions that are compared with a new one: the most that the service lists at once. */
const MAX_COMPARED = 100;
/** Milliseconds for which an answer also counts for the same question asked again. */
const SAME_FOR_MS = 3_600_000;
/** Seconds for which the service holds one request. */
const LONGEST_HOLD = 50;
/** Milliseconds between two requests where the service does not hold them. */
const PAUSE_MS = 1_500;
const MAX_WORDS = 500;
const NOTE = 'An answer authorises nothing: what you do is checked as ever.';

/**
 * Asks people, and waits for their answer. The same question of the same agent and run is one decision while that is
 * open, and for an hour after. If `signal` is aborted meanwhile, a question that this call asked is cancelled, and may
 * be asked anew.
 * @param agent id or name of the asking agent
 * @throws GovernanceError, CONFLICT for one question too many; RangeError for one that is too long; the reason of
 *   `signal`
 */
export async function askPeople(
  send: SendJson,
  agent: string,
  question: Question,
  { run, subjects = ['*'], wait = 0, signal }: QuestionOptions,
): Promise<QuestionAnswer> {
  requireLength('title', question.title, MAX_TITLE);
  requireLength('question', question.question, MAX_QUESTION);
  const body = {
    type: 'question',
    title: question.title,
    description: question.question,
    context: {
      ...(question.context !== undefined && { context: question.context }),
      ...(run !== undefined && { run }),
    },
    proposedBy: agent,
    riskLevel: 'medium',
    approvers: [{ subjects }],
  };
  const open = await findOpen(send, body);
  const proposed = open ?? (await findAnswer(send, body)) ?? (await proposeOnce(send, body));
  try {
    const decision = await answered(send, proposed, wait, signal);
    return { decision, text: answerText(decision) };
  } catch (error) {
    // A question that another call has asked may still be waited for.
    if (signal?.aborted === true && open === undefined) await cancel(send, proposed.id);
    throw error;
  }
}

/** Cancels a question. It stays as it is if it was answered meanwhile, or the service does not answer. */
async function cancel(send: SendJson, id: string): Promise<void> {
  const body = { reason: 'The call that asked was withdrawn.' };
  await send({ method: 'post', path: `/api/v1/decisions/${id}/cancel`, body }).catch(() => undefined);
}

type QuestionBody = Readonly<Record<'proposedBy' | 'title' | 'description', string>> & { readonly context: object };

/** Finds the same question if it is open. */
async function findOpen(send: SendJson, body: QuestionBody): Promise<Decision | undefined> {
  const data = await questionsOf(send, body.proposedBy, { status: 'proposed' });
  return data.find((decision) => identityOf(decision) === identityOf(body));
}

/**
 * Finds the same question if it was settled within the last hour, whichever key asked it and however long it was open.
 */
async function findAnswer(send: SendJson, body: QuestionBody): Promise<Decision | undefined> {
  const data = await questionsOf(send, body.proposedBy, { order: 'desc' });
  return data.find((decision) => isAnswer(decision) && identityOf(decision) === identityOf(body));
}

function isAnswer({ status, resolvedAt }: Decision): boolean {
  return status !== 'cancelled' && Date.parse(resolvedAt ?? '') + SAME_FOR_MS > Date.now();
}

async function questionsOf(
  send: SendJson,
  proposedBy: string,
  filters: Readonly<Record<string, string>>,
): Promise<readonly Decision[]> {
  const query = new URLSearchParams({ type: 'question', proposedBy, limit: String(MAX_COMPARED), ...filters });
  const page = await send({ method: 'get', path: `/api/v1/decisions?${query}` });
  return (page as { readonly data: readonly Decision[] }).data;
}

function identityOf({
  title,
  description,
  context,
}: Pick<Decision, 'title' | 'description'> & { context: object }): string {
  return canonicalJson([title, description, context]);
}

/**
 * Proposes a question. If another key of the agent proposed the same question at the same time, the older proposal
 * stays. (An idempotency key does not prevent the second one: it counts only for the caller who sent it.)
 */
async function proposeOnce(send: SendJson, body: QuestionBody): Promise<Decision> {
  const own = await propose(send, body);
  const first = own.status === 'proposed' ? await findOpen(send, body) : undefined;
  if (first === undefined || first.id === own.id) return own;
  await cancel(send, own.id);
  return first;
}

/**
 * Proposes a question under an idempotency key that is derived from it, so that equal questions become one decision. If
 * that decision was cancelled, or settled long ago, the question is proposed again, with a key derived from the old
 * one.
 */
async function propose(send: SendJson, body: QuestionBody): Promise<Decision> {
  let { sha256: key } = await digestOf(canonicalJson(body));
  for (;;) {
    const headers = { 'Idempotency-Key': key };
    const { id } = (await send({ method: 'post', path: '/api/v1/decisions', body, headers })) as Decision;
    const decision = await read(send, id, 0);
    if (decision.resolvedAt === null || isAnswer(decision)) return decision;
    ({ sha256: key } = await digestOf(`${key} ${id}`));
  }
}

async function answered(
  send: SendJson,
  proposed: Decision,
  wait: number,
  signal: AbortSignal | undefined,
): Promise<Decision> {
  const end = performance.now() + wait * 1_000;
  let decision = proposed;
  for (let left = wait; decision.status === 'proposed' && left > 0; left = (end - performance.now()) / 1_000) {
    decision = await read(send, decision.id, Math.min(Math.ceil(left), LONGEST_HOLD), signal);
    if (decision.status === 'proposed') await sleep(Math.max(0, Math.min(PAUSE_MS, end - performance.now())), signal);
  }
  return decision;
}

async function read(send: SendJson, id: string, wait: number, signal?: AbortSignal): Promise<Decision> {
  const path = `/api/v1/decisions/${id}${wait === 0 ? '' : `?wait=${wait}`}`;
  return (await send({ method: 'get', path, hold: 1_000 * wait, signal })) as Decision;
}

function answerText({ id, status, reviews }: Decision): string {
  const comments = reviews.flatMap(({ comment }) => (comment === null ? [] : [comment]));
  const words = comments.map((comment) => `The words of a reviewer: ${JSON.stringify(shortened(comment))}`);
  if (status === 'proposed')
    return `Nobody has answered yet: the decision ${id} waits. Ask the same again to get its answer. ${NOTE}`;
  if (status === 'approved' || status === 'rejected')
    return [`The answer is ${status === 'approved' ? 'yes' : 'no'} (the decision ${id}).`, ...words, NOTE].join(' ');
  return `The question was not answered: the decision ${id} is ${status}. ${NOTE}`;
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length > MAX_WORDS ? `${characters.slice(0, MAX_WORDS).join('')}… (cut)` : text;
}

function requireLength(name: string, text: string, max: number): void {
  const { length } = [...text];
  if (length === 0 || length > max) throw new RangeError(`The ${name} must have 1 to ${max} characters.`);
}
