import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { isReplayed, send, type Answer, type Parsed } from '../support/application/send';
import { type TemporaryDatabase } from '../support/database/temporary-database';
import { StepsModule } from './steps.module';

export const PREVIOUS_KEY = 'a-previous-key-for-tests-that-is-long';
export const DOCUMENT = { resourceType: 'document', resourceId: 'docs/a' };

/** Parts of an answer that its repetition must repeat. */
export function responseParts({ status, headers, text }: Answer): object {
  const headerValues = ['location', 'etag', 'content-type'].map((name) => headers.get(name));
  return { status, text, headerValues };
}

/** An application to which requests are sent under idempotency keys. */
export class KeyedRequests {
  private keys = 0;

  private constructor(
    private readonly database: TemporaryDatabase,
    public app: TestApp,
  ) {}

  /** With an agent `bot`, which policies allow to `look`, `wait`, `note` and `fail`, and to `ask` after an approval. */
  static async start(database: TemporaryDatabase): Promise<KeyedRequests> {
    const requests = new KeyedRequests(database, await startOn(database));
    const { app } = requests;
    await createPolicy(app, { actions: ['look', 'wait', 'note', 'fail'] });
    await createPolicy(app, {
      effect: 'deny',
      priority: 1,
      actions: ['forbidden', 'decision:reject'],
      subjects: ['agent:bot'],
    });
    await createAgent(app, {
      name: 'bot',
      capabilities: ['look', 'wait', 'note', 'fail', 'forbidden', 'unmatched', 'ask'],
    });
    await createPolicy(app, {
      effect: 'require_approval',
      actions: ['ask'],
      approval: { approvers: [{ subjects: ['kind:machine'] }] },
    });
    return requests;
  }

  async restart(): Promise<void> {
    await this.app.close();
    this.app = await startOn(this.database);
  }

  async end(): Promise<void> {
    await this.app.close();
    await this.database.remove();
  }

  newKey(): string {
    this.keys += 1;
    return `key-${this.keys}`;
  }

  post(path: string, body: unknown, key?: string): Promise<Answer> {
    const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
    return send(this.app, 'POST', `/api/v1/${path}`, { body, headers });
  }

  async get(path: string): Promise<Parsed> {
    return (await send(this.app, 'GET', `/api/v1/${path}`)).body;
  }

  async entries(): Promise<number> {
    return (await this.get('stats')).provenanceEntries;
  }

  async newAgent(): Promise<string> {
    return (await createAgent(this.app, { name: `agent of ${this.newKey()}` })).id;
  }

  async expectOneEffect(path: string, body: unknown, status: number): Promise<Answer> {
    const key = this.newKey();
    const first = await this.post(path, body, key);
    expect(first.status).toBe(status);
    expect(isReplayed(first)).toBe(false);
    const before = await this.entries();
    const second = await this.post(path, body, key);
    expect(responseParts(second)).toEqual(responseParts(first));
    expect(isReplayed(second)).toBe(true);
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await this.entries()).toBe(before);
    return second;
  }
}

function startOn({ environment }: TemporaryDatabase): Promise<TestApp> {
  return createTestApp({ environment: { ...environment, API_KEY_PREVIOUS: PREVIOUS_KEY }, modules: [StepsModule] });
}
