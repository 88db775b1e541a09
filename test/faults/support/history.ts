import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, send } from '../../support/application/send';
import { KeyedWrites } from './keyed-writes';

/** Number of repetitions of unanswered requests, and the milliseconds in between. */
const PATIENCE = 500;
const INTERVAL = 20;

/** The entries that a write of each kind leaves in the ledger if it succeeds, and if a rule refuses it. */
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

/** A request that was sent, and its outcome. */
export interface Attempt extends WriteRequest {
  /** Sent as X-Request-Id; the entries of the request carry it. */
  readonly requestId: string;
  /** The answer; null if none came. */
  readonly answer: Answer | null;
  /** Why no answer came, such as ECONNREFUSED. */
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

/** Every write that was sent and every answer received: what the ledger is compared with. */
export class History {
  readonly attempts: Attempt[] = [];
  readonly sightings: Sighting[] = [];
  /** The newest checkpoint that a client has kept; later ones must extend it. */
  checkpoint: string | null = null;
  /** Statuses of the reads that were answered. */
  readonly reads = new Map<number, number>();
  readonly keyed: KeyedWrites;

  /** @param keysLast false if the ledger's clock moves so far that keys expire. */
  constructor(keysLast = true) {
    this.keyed = new KeyedWrites(keysLast);
  }

  /** The history of a copy of the database: all of this except what is kept outside the database. */
  ofCopy(): History {
    const other = new History();
    other.attempts.push(...this.attempts);
    return other;
  }

  /** Sends a write and records its outcome; null if no answer came. */
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

  /**
   * Repeats unanswered requests until they are answered, and the last answered ones once more. Returns those it could
   * not complete.
   */
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

  /** Requests the health and records the answer; null if none came. */
  async lookAtHealth(url: string): Promise<number | null> {
    const began = performance.now();
    const answer = await send({ url }, 'GET', '/api/v1/health', { key: null }).catch(() => null);
    if (answer === null) return null;
    this.sightings.push({ status: answer.status, began, ended: performance.now() });
    return answer.status;
  }

  /** Keeps the service's checkpoint, as a client does that trusts nobody. */
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

  /** Number of attempts by status; 0 stands for no answer. */
  statuses(since = 0): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { answer, began } of this.attempts) {
      if (began < since) continue;
      const status = answer?.status ?? 0;
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  /** Number of writes that were acknowledged. */
  get acknowledged(): number {
    return this.attempts.filter(({ answer }) => answer !== null && answer.status < 300).length;
  }
}

/** The code that `fetch` reports for a failed connection. */
function connectionFault(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? String(error);
}
