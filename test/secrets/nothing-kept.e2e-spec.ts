import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeBackup } from '../../src/program/backup/backup';
import { company, type Company, DECISIONS, EXECUTIONS, requireApproval } from '../approvals/support';
import { MailServer, mailText } from '../mail/mail-server';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createPolicy } from '../support/application/factories';
import { type Answer, type Parsed, send } from '../support/application/send';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';
import { describeOnSqlite } from '../support/database/database-kind';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** `SECRET_ROUNDS=100000 npx jest test/secrets/nothing-kept --selectProjects sqlite` sends as many. */
const ROUNDS = Number(process.env['SECRET_ROUNDS'] ?? 100);
/** Every secret begins with it, and nothing else has it. */
const MARK = 'hush';
const USUAL = ['password', 'Access_Token', 'API-KEY', 'setCookie', 'JWT', 'client_secret'] as const;
const PLAIN = ['to', 'amount', 'note', 'lines', 'card', 'a/b', 'c~d'] as const;

/** A request: its parameters, and the pointers that name those of its secrets that have no usual name. */
interface RandomRequest {
  readonly parameters: Parsed;
  readonly secret: string[];
}

/** The same numbers in every run. */
class RandomRequests {
  private state = 4_711;
  private count = 0;

  below(bound: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * bound);
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  next(): RandomRequest {
    const secret: string[] = [];
    const parameters = this.members([], secret);
    return { parameters, secret: [...new Set(secret)] };
  }

  private members(path: readonly string[], secret: string[]): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    for (let count = 1 + this.below(3); count > 0; count -= 1) {
      const isUsual = this.below(3) === 0;
      const name = isUsual ? this.pick(USUAL) : this.pick(PLAIN);
      members[name] = isUsual ? this.secretValue() : this.member([...path, name], secret);
    }
    return members;
  }

  private member(path: readonly string[], secret: string[]): unknown {
    const kind = this.below(path.length > 3 ? 4 : 6);
    if (kind === 0 && secret.length < 10) {
      secret.push(this.pointerTo(path));
      return this.secretValue();
    }
    if (kind === 4) return this.members(path, secret);
    if (kind === 5)
      return Array.from({ length: this.below(3) }, (_, index) => this.member([...path, String(index)], secret));
    return this.pick<unknown>([1, true, 'plain text', null]);
  }

  private secretValue(): unknown {
    this.count += 1;
    const text = `${MARK}-${this.count.toString(36)}-é"\\`;
    return this.pick<unknown>([text, text, [text], { inside: { text } }]);
  }

  /** Chooses one of the pointers to a path. */
  private pointerTo(path: readonly string[]): string {
    const tokens = path.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1'));
    const last = tokens.at(-1) ?? '';
    const anyAt = this.below(tokens.length);
    return this.pick([
      `/${tokens.join('/')}`,
      `/${tokens.map((token, index) => (index === anyAt ? '*' : token.toUpperCase())).join('/')}`,
      `/**/${last}`,
      `/${tokens[0] ?? ''}/**/${tokens.slice(1).join('/')}`.replace(/\/$/, ''),
    ]);
  }
}

describeOnSqlite('What agents send as a secret', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let people: Company;
  let mails: MailServer;
  let receivers: WebhookEndpoint[];
  const seen: string[] = [];
  const random = new RandomRequests();

  const request = async (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> => {
    const answer = await send(app, method, path, { ...(body !== undefined && { body }), headers });
    seen.push(`${JSON.stringify([...answer.headers])} ${answer.text}`);
    return answer;
  };
  const execute = ({ parameters, secret }: RandomRequest, more: object = {}, headers = {}): Promise<Answer> =>
    request(
      'POST',
      '/api/v1/agents/bot/execute',
      {
        action: 'refund',
        resourceType: 'payment',
        resourceId: 'free/1',
        parameters,
        secret,
        ...more,
      },
      headers,
    );

  beforeAll(async () => {
    database = await temporaryDatabase();
    mails = await MailServer.start();
    const environment = {
      ...database.environment,
      ...{ SMTP_URL: mails.url, MAIL_FROM: 'governance@example.com', PUBLIC_URL: 'https://governance.example.com' },
      ...{ WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', MAX_PENDING_APPROVALS: '100000' },
    };
    app = await createTestApp({ environment, logStream: { write: (line) => void seen.push(line) } });
    people = await company(app);
    await createPolicy(app, { resources: ['free/*'] });
    await requireApproval(app, {}, { resources: ['asked/*'] });
    await request('PUT', '/api/v1/agents/ann/email', { email: 'ann@example.com' });
    receivers = await Promise.all(
      (['event', 'ocsf', 'slack', 'teams'] as const).map(async (format) => {
        const endpoint = await WebhookEndpoint.start();
        const actions = format === 'slack' || format === 'teams' ? ['decision.proposed'] : ['*'];
        const created = await request('POST', '/api/v1/webhooks', { url: endpoint.url, format, actions });
        expect([created.status, created.body.error]).toEqual([201, undefined]);
        return endpoint;
      }),
    );
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([mails.close(), ...receivers.map((endpoint) => endpoint.close())]);
    await database.remove();
  });

  it(
    `is nowhere afterwards, and equal requests are the same action, ${ROUNDS} times`,
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const sent = random.next();
        const kind = random.below(8);
        if (kind === 0) {
          const answer = await execute(sent, { resourceId: `asked/${round}` });
          const again = await execute(sent, { resourceId: `asked/${round}` });
          expect([answer.status, again.body.id]).toEqual([202, answer.body.id]);
          const decision = `${DECISIONS}/${answer.body.decisionId}`;
          if (random.below(2) === 0) {
            const instead = { parameters: { ...sent.parameters, more: 1, Password: random.next().parameters } };
            await request(
              'POST',
              `${decision}/reject`,
              { approverId: people.ann.id, instead },
              { 'Idempotency-Key': `r${round}` },
            );
          } else {
            await request('POST', `${decision}/approve`, { approverId: people.ann.id });
            expect((await execute(sent, { resourceId: `asked/${round}` })).body.outcome).toBe('approved');
            expect((await request('POST', `${EXECUTIONS}/${answer.body.id}/resume`)).body.outcome).toBe('authorized');
          }
          await request('GET', `${EXECUTIONS}/${answer.body.id}/evidence`);
        } else if (kind === 1) {
          const question = { action: 'refund', resourceType: 'payment', resourceId: 'asked/1' };
          const requests = [
            { agent: 'bot', ...sent },
            { subject: { name: 'x' }, ...random.next() },
          ];
          await request('POST', '/api/v1/policies/evaluate', { ...question, requests });
          await request('POST', '/api/v1/policies/evaluate', { agent: 'bot', ...question, ...sent, explain: true });
        } else if (kind === 2) {
          const { parameters: properties } = sent;
          const item = {
            subject: { type: 'agent', id: 'bot' },
            action: { name: 'refund', properties },
            resource: { type: 'a', id: 'b' },
          };
          await request('POST', '/access/v1/evaluations', { evaluations: [item] });
          const test = {
            agent: 'bot',
            action: 'refund',
            resourceType: 'a',
            resourceId: 'b',
            parameters: properties,
            expect: 'deny',
          };
          await request('POST', '/api/v1/policies/plan', { policies: [], tests: [test] });
        } else {
          const headers = { 'Idempotency-Key': `e${round}` };
          const [first, replayed, other] = [
            await execute(sent, {}, headers),
            await execute(sent, {}, headers),
            await execute(sent),
          ];
          expect([first.status, replayed.body.id]).toEqual([200, first.body.id]);
          expect(other.body.actionHash).toBe(first.body.actionHash);
          const result = { list: [{ token: `${MARK}-of-result` }], credentials: sent.parameters };
          await request(
            'POST',
            `${EXECUTIONS}/${first.body.id}/result`,
            { outcome: 'executed', result },
            { 'Idempotency-Key': `p${round}` },
          );
        }
      }
      // Mails are sent about what still waits.
      expect((await execute(random.next(), { resourceId: 'asked/last' })).status).toBe(202);
      await chainIsValid(app);
      for (const path of ['/executions', '/decisions', '/audit', '/grants', '/provenance/export'])
        await request('GET', `/api/v1${path}${path.includes('export') ? '' : '?limit=1000'}`);
      await Promise.all(receivers.map((endpoint) => endpoint.until(10)));
      await mails.until(1);
      for (const { received } of receivers) for (const { text } of received) seen.push(text);
      for (const mail of mails.received) seen.push(mailText(mail), mail.source);
      const backup = join(database.folder, 'backup.db');
      await writeBackup(database.path, backup, () => undefined);
      const files = [database.path, `${database.path}-wal`, backup].filter((path) => existsSync(path));
      expect(files).toHaveLength(3);
      for (const path of files) expect(readFileSync(path).includes(MARK)).toBe(false);
      expect(seen.filter((text) => text.includes(MARK)).slice(0, 3)).toEqual([]);
      expect(seen.filter((text) => text.includes('$secret')).length).toBeGreaterThan(ROUNDS);
    },
    600_000 + 100 * ROUNDS,
  );
});
