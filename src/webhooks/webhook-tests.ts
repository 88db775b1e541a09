import { Injectable } from '@nestjs/common';
import { type DomainError, unavailable } from '../errors/domain-error';
import { endOf } from '../http/answers/caller-end';
import { AnswersOnce } from '../ledger/answers-once';
import type { Caller } from '../ledger/caller';
import { type Attempt, WebhookSender } from './delivery/webhook-sender';
import { foundWebhook } from './found-webhook';
import { signingAt } from './signing-secrets';
import type { Webhook } from './webhook.entity';

/** Most concurrent test deliveries. */
const MOST_TESTS = 10;
/** Milliseconds; an attempt is given up long before. */
const LONGEST_TEST = 30_000;

export type TestResult = Pick<Attempt, 'status' | 'durationMs'>;

/** Test deliveries, which leave no trace here. */
@Injectable()
export class WebhookTests {
  private underWay = 0;

  constructor(
    private readonly sender: WebhookSender,
    private readonly answers: AnswersOnce,
  ) {}

  /**
   * A single attempt.
   * @throws NOT_FOUND; UNAVAILABLE when too many are in progress; CONFLICT under the key of one that was interrupted.
   */
  async test(caller: Caller, id: string): Promise<TestResult> {
    if (this.underWay >= MOST_TESTS) throw unavailable(`${MOST_TESTS} tests of webhooks are under way.`);
    this.underWay += 1;
    try {
      return await this.answers.perform(caller, {
        admit: (transaction) => foundWebhook(transaction, id),
        work: (webhook) => this.attempt(caller, webhook),
        longest: LONGEST_TEST,
      });
    } finally {
      this.underWay -= 1;
    }
  }

  private async attempt(caller: Caller, { url, secrets }: Webhook): Promise<TestResult> {
    const connections = this.sender.connections();
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
    const [refusal] = refusals;
    if (refusal !== undefined) throw refusal;
    return { status, durationMs };
  }
}
