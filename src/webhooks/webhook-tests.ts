import { Injectable } from '@nestjs/common';
import { type DomainError, unavailable } from '../errors/domain-error';
import { endOf } from '../http/answers/caller-end';
import { ShutdownGate } from '../http/shutdown/shutdown-gate';
import { AnswersOnce } from '../ledger/answers-once';
import type { Caller } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { type Attempt, type Connections, WebhookSender } from './delivery/webhook-sender';
import { foundWebhook } from './found-webhook';
import { signingAt } from './signing-secrets';
import type { Webhook } from './webhook.entity';

/** Most concurrent test deliveries. */
const MOST_TESTS = 10;
/** Milliseconds that attempts may continue after shutdown begins: less than their requests are waited for. */
const GRACE = 5_000;
/** Milliseconds; an attempt is given up long before. */
const LONGEST_TEST = 30_000;

export type TestResult = Pick<Attempt, 'status' | 'durationMs'>;

/** Test deliveries, which leave no trace here. */
@Injectable()
export class WebhookTests {
  /** The callers whose tests are sent. Those who wait for the answer to a test that has begun are not among them. */
  private readonly sending = new Set<Caller>();
  private readonly connected = new Set<Connections>();

  constructor(
    private readonly sender: WebhookSender,
    private readonly answers: AnswersOnce,
    gate: ShutdownGate,
  ) {
    gate.signal.addEventListener('abort', () => setTimeout(() => this.stop(), GRACE).unref(), { once: true });
  }

  /**
   * A single attempt.
   * @throws NOT_FOUND; UNAVAILABLE when too many are in progress; CONFLICT under the key of one that was interrupted.
   */
  async test(caller: Caller, id: string): Promise<TestResult> {
    try {
      return await this.answers.perform(caller, {
        admit: (transaction) => this.admit(caller, transaction, id),
        work: (webhook) => this.attempt(caller, webhook),
        longest: LONGEST_TEST,
      });
    } finally {
      this.sending.delete(caller);
    }
  }

  /** A command that runs twice takes one place. */
  private async admit(caller: Caller, transaction: LedgerTransaction, id: string): Promise<Webhook> {
    const webhook = await foundWebhook(transaction, id);
    if (!this.sending.has(caller) && this.sending.size >= MOST_TESTS)
      throw unavailable(`${MOST_TESTS} tests of webhooks are under way.`);
    this.sending.add(caller);
    return webhook;
  }

  /** Ends the attempts under way, so that their requests are answered before the service ends. */
  private stop(): void {
    for (const connections of this.connected) connections.close();
  }
  private async attempt(caller: Caller, { url, secrets }: Webhook): Promise<TestResult> {
    const connections = this.sender.connections();
    this.connected.add(connections);
    const timestamp = new Date().toISOString();
    const body = Buffer.from(JSON.stringify({ type: 'webhook.test', timestamp, data: {} }));
    const signing = signingAt(secrets, timestamp);
    const id = `test_${crypto.randomUUID()}`;
    const refusals: DomainError[] = [];
    const mayStill = (): boolean => {
      const end = endOf(caller);
      if (end !== null) refusals.push(end);
      return end === null;
    };
    const { status, durationMs } = await this.sender.send({ url, secrets: signing, connections, id, body, mayStill });
    connections.close();
    this.connected.delete(connections);
    const [refusal] = refusals;
    if (refusal !== undefined) throw refusal;
    return { status, durationMs };
  }
}
