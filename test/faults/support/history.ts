import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, send } from '../../support/application/send';
import { KeyedWrites } from './keyed-writes';

/** Looks at what is not answered yet, and milliseconds between them. */
const PATIENCE = 500;
const INTERVAL = 20;

/** What a write of each kind leaves in the ledger when it is carried out, and when it is refused by rule. */
export const TRACES = {
  createEntity: { done: [['entity.created']], refused: [] },
  updateEntity: { done: [['entity.updated']], refused: [] },
  deleteEntity: { done: [['entity.deleted']], refused: [] },
  addClaim: { done: [['claim.added']], refused: [] },
  removeClaim: { done: [['claim.removed']], refused: [] },
  createAgent: { done: [['agent.created']], refused: [] },
  updateAgent: { done: [['agent.updated']], refused: [] },
  suspendAgent: { done: [['agent.suspended'], []], refused: [] },
  resumeAgent: { done: [['agent.resumed'], []], refused: [] },
  createPolicy: { done: [['policy.created'], ['policy.superseded', 'policy.created']], refused: [] },
  activatePolicy: { done: [['policy.activated'], ['policy.superseded', 'policy.activated'], []], refused: [] },
  deactivatePolicy: { done: [['policy.deactivated'], []], refused: [] },
  propose: { done: [['decision.proposed']], refused: [['decision.proposal_denied']] },
  approve: { done: [['decision.reviewed'], ['decision.approved']], refused: [['decision.approval_denied']] },
  reject: { done: [['decision.rejected']], refused: [['decision.rejection_denied']] },
  execute: { done: [['execution.authorized']], refused: [['execution.denied']] },
} as const satisfies Record<string, { done: readonly string[][]; refused: readonly string[][] }>;

export type Operation = keyof typeof TRACES;

export interface WriteRequest {
  readonly operation: Operation;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Under `/api/v1/`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Sent as Idempotency-Key: it may be sent again. */
  readonly key?: string;
}

/** A request that was sent, and what became of it. */
export interface Attempt extends WriteRequest {
  /** Sent as X-Request-Id; the entries of the request carry it. */
  readonly requestId: string;
  /** Null when none came. */
  readonly answer: Answer | null;
  /** Why none came, such as ECONNREFUSED. */
  readonly fault: string | null;
  /** Monotonic milliseconds. */
  readonly began: number;
  readonly ended: number;
}

/** An answer of /health. */
export interface Sighting {
  readonly status: number;
  readonly began: number;
  readonly ended: number;
}

/** Every write that was sent and every answer that came: what the ledger is held against. */
export class History {
  readonly attempts: Attempt[] = [];
  readonly sightings: Sighting[] = [];
  /** The newest that a client has kept; what comes later must extend it. */
  checkpoint: string | null = null;
  /** Statuses of reads, where one came. */
  readonly reads = new Map<number, number>();
  readonly keyed: KeyedWrites;

  /** @param keysLast false where the ledger's clock moves so far that keys expire. */
  constructor(keysLast = true) {
    this.keyed = new KeyedWrites(keysLast);
  }

  /** What is known of a copy of the database: all of this, but for what is kept outside it. */
  ofCopy(): History {
    const other = new History();
    other.attempts.push(...this.attempts);
    return other;
  }

  /** Sends a write and keeps what became of it; null when no answer came. */
  async write(url: string, request: WriteRequest): Promise<Answer | null> {
    const requestId = `fault-${randomUUID()}`;
    const began = performance.now();
    const { method, path, body } = request;
    const headers = { 'X-Request-Id': requestId, ...(request.key !== undefined && { 'Idempotency-Key': request.key }) };
    let fault: string | null = null;
    const answer = await send({ url }, method, `/api/v1/${path}`, { body, headers }).catch((error: unknown) => {
      fault = connectionFault(error);
      return null;
    });
    const attempt = { ...request, requestId, answer, fault, began, ended: performance.now() };
    this.attempts.push(attempt);
    this.keyed.note(request, attempt);
    return answer;
  }

  /** Sends again what is not answered until it is, and the last that were answered once more. Answers what is in vain. */
  async settle(url: string): Promise<string[]> {
    for (let looks = 0; this.keyed.unanswered.length > 0 && looks < PATIENCE; looks += 1) {
      if (looks > 0) await sleep(INTERVAL);
      await this.writeAll(url, this.keyed.unanswered);
    }
    await this.writeAll(url, [...this.keyed.repeatable]);
    return this.keyed.unanswered.map(({ operation, key }) => `${operation} under ${key} is never answered`);
  }

  private async writeAll(url: string, requests: readonly WriteRequest[]): Promise<void> {
    for (const request of requests) await this.write(url, request);
  }

  /** Asks for the health and keeps the answer; null when none came. */
  async lookAtHealth(url: string): Promise<number | null> {
    const began = performance.now();
    const answer = await send({ url }, 'GET', '/api/v1/health', { key: null }).catch(() => null);
    if (answer === null) return null;
    this.sightings.push({ status: answer.status, began, ended: performance.now() });
    return answer.status;
  }

  /** Keeps the service's checkpoint, as a client does who trusts nobody. */
  async keepCheckpoint(url: string): Promise<void> {
    const answer = await this.read(url, 'provenance/checkpoint');
    if (answer?.status === 200) this.checkpoint = answer.body.checkpoint;
  }

  async read(url: string, path: string): Promise<Answer | null> {
    const answer = await send({ url }, 'GET', `/api/v1/${path}`).catch(() => null);
    const status = answer?.status ?? 0;
    this.reads.set(status, (this.reads.get(status) ?? 0) + 1);
    return answer;
  }

  /** How many attempts had each status; 0 stands for no answer. */
  statuses(since = 0): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { answer, began } of this.attempts) {
      if (began < since) continue;
      const status = answer?.status ?? 0;
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  /** Writes that were answered as done. */
  get acknowledged(): number {
    return this.attempts.filter(({ answer }) => answer !== null && answer.status < 300).length;
  }
}

/** What `fetch` says of a connection that failed. */
function connectionFault(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? String(error);
}
