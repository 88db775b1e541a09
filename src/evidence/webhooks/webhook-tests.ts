import { Injectable } from '@nestjs/common';
import { type DomainError, unavailable } from '../../core/errors/domain-error';
import { endOf } from '../../http/answers/answer-end';
import { ShutdownGate } from '../../http/shutdown/shutdown';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { type Attempt, type Connections, WebhookSender } from './delivery/webhook-sender';
import { foundWebhook } from './webhook.entity';
import { signingAt } from './signing-secrets';

/** Most concurrent test deliveries. */
const MOST_TESTS = 10;
/** Milliseconds that attempts may continue after shutdown begins: less than their requests are waited for. */
const GRACE = 5_000;

export type TestResult = Pick<Attempt, 'status' | 'durationMs'>;

/** Test deliveries, which leave no trace here. */
@Injectable()
export class WebhookTests {
  /** Those of the attempts under way. */
  private readonly connected = new Set<Connections>();

  constructor(
    private readonly sender: WebhookSender,
    private readonly ledger: LedgerService,
    gate: ShutdownGate,
  ) {
    gate.signal.addEventListener('abort', () => setTimeout(() => this.stop(), GRACE).unref(), { once: true });
  }

  /**
   * A single attempt.
   * @throws NOT_FOUND; UNAVAILABLE when too many are in progress; UNAUTHORIZED or PERMISSION_DENIED for a caller that is
   * not admitted any more.
   */
  async test(caller: Caller, id: string): Promise<TestResult> {
    // By a command, which sees that a key was revoked by another process.
    const webhook = await this.ledger.write(caller, (transaction) => foundWebhook(transaction, id));
    if (this.connected.size >= MOST_TESTS) throw unavailable(`${MOST_TESTS} tests of webhooks are under way.`);
    const connections = this.sender.connections();
    this.connected.add(connections);
    const timestamp = new Date().toISOString();
    const refusals: DomainError[] = [];
    const { status, durationMs } = await this.sender.send({
      url: webhook.url,
      secrets: signingAt(webhook.secrets, timestamp),
      connections,
      id: `test_${crypto.randomUUID()}`,
      body: Buffer.from(JSON.stringify({ type: 'webhook.test', timestamp, data: {} })),
      mayStill: () => {
        const end = endOf(caller);
        if (end !== null) refusals.push(end);
        return end === null;
      },
    });
    connections.close();
    this.connected.delete(connections);
    const [refusal] = refusals;
    if (refusal !== undefined) throw refusal;
    return { status, durationMs };
  }

  /** Ends the attempts under way, so that their requests are answered before the service ends. */
  private stop(): void {
    for (const connections of this.connected) connections.close();
  }
}
