import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MetricsServer } from '../../src/operations/metrics/metrics-server';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { ROOT } from '../support/documents/markdown';
import { valueOf } from '../support/application/metric';
import { createAgent, propose } from '../support/application/factories';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';
import { MailServer } from '../mail/mail-server';
import { send } from '../support/application/send';

const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
const BY_ROUTE = 'http_request_duration_seconds_count';

describe('The metrics', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '20' } });
  });
  afterEach(() => app.close());

  async function metrics(): Promise<string> {
    const answer = await send(app, 'GET', '/metrics');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain;.* version=0\.0\.4/);
    return answer.text;
  }

  it('need the key, and take no parameters', async () => {
    expect((await send(app, 'GET', '/metrics', { key: null })).status).toBe(401);
    expect((await send(app, 'GET', '/metrics?name=x')).status).toBe(400);
  });

  it.each([
    ['alerts.yml', /expr: '(.+)'/g, 15],
    ['grafana-dashboard.json', /"expr": "(.+)"/g, 20],
  ])('that deploy/%s asks for exist', async (file, expressions, count) => {
    const matches = [...readFileSync(join(ROOT, 'deploy', file), 'utf8').matchAll(expressions)];
    expect(matches).toHaveLength(count);
    const names = matches.flatMap(([, text = '']) => text.match(/\b(?:governance|http|nodejs|process)_\w+/g) ?? []);
    const text = await metrics();
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    const offered = types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    );
    expect(names.filter((name) => !offered.includes(name))).toEqual([]);
  });

  it('are well-formed: each line a comment or a sample, each metric once', async () => {
    const lines = (await metrics()).split('\n').filter((line) => line !== '');
    const sample = /^[a-z]\w*(\{\w+="[^"]*"(,\w+="[^"]*")*\})? (-?[\d.e+-]+|Nan|\+Inf)$/;
    expect(lines.filter((line) => !line.startsWith('# ') && !sample.test(line))).toEqual([]);
    const metricNames = lines.flatMap((line) => /^# TYPE (\S+) /.exec(line)?.[1] ?? []);
    expect(metricNames).toEqual([...new Set(metricNames)]);
    expect(metricNames).toEqual(
      expect.arrayContaining([
        'process_cpu_seconds_total',
        'nodejs_eventloop_lag_p99_seconds',
        'nodejs_gc_duration_seconds',
      ]),
    );
  });

  it('describe the ledger', async () => {
    const names = ['a', 'b', 'c'];
    await Promise.all(names.map((name) => send(app, 'POST', '/api/v1/entities', { body: { type: 'customer', name } })));
    const text = await metrics();
    expect(valueOf(text, 'governance_ledger_head_sequence')).toBe(3);
    expect(valueOf(text, 'governance_ledger_queue_commands')).toBe(0);
    expect(valueOf(text, 'governance_ledger_healthy')).toBe(1);
    expect(valueOf(text, 'governance_ledger_failed_batches_total')).toBe(0);
    expect(valueOf(text, 'governance_ledger_batch_commands_sum')).toBeGreaterThanOrEqual(3);
    const batches = valueOf(text, 'governance_ledger_batch_commands_count');
    expect(valueOf(text, 'governance_ledger_batch_duration_seconds_count')).toBe(batches);
    expect(valueOf(text, 'governance_ledger_commit_duration_seconds_count')).toBeGreaterThanOrEqual(1);
  });

  it('count refusals of agents by reason', async () => {
    await send(app, 'POST', '/api/v1/agents', { body: { name: 'bot', capabilities: ['read'] } });
    for (const action of ['read', 'read', 'write']) {
      const body = { action, resourceType: 'document', resourceId: 'docs/1' };
      expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).status).toBe(403);
    }
    const text = await metrics();
    expect(valueOf(text, 'governance_denials_total{reason="no_policy_allows"}')).toBe(2);
    expect(valueOf(text, 'governance_denials_total{reason="capability_missing"}')).toBe(1);
    expect(valueOf(text, 'governance_denials_total{reason="self_approval"}')).toBe(0);
  });

  it('describe what waits for people, and what webhooks and mails came to', async () => {
    const [endpoint, server] = [
      await WebhookEndpoint.start((response) => response.writeHead(500).end()),
      await MailServer.start(),
    ];
    server.refuses = (address) => address === 'gone@example.com';
    const environment = { ...DELIVERING, MAIL_FROM: 'governance@example.com', SMTP_URL: server.url };
    const busy = await createTestApp({ environment });
    const metric = async (name: string): Promise<number> =>
      valueOf((await send(busy, 'GET', '/metrics')).text, name) ?? NaN;
    const until = async (name: string, isReached: (value: number) => boolean): Promise<void> => {
      while (!isReached(await metric(name))) await sleep(50);
    };
    const names = ['waiting_decisions', 'oldest_waiting_decision_seconds', 'webhook_lag_entries', 'failing_webhooks'];
    for (const name of names) expect([name, await metric(`governance_${name}`)]).toEqual([name, 0]);
    await createAgent(busy, { name: 'bot' });
    for (const [name, email] of [
      ['ann', 'ann@example.com'],
      ['ben', 'gone@example.com'],
    ] as const) {
      await createAgent(busy, { name, kind: 'human' });
      await send(busy, 'PUT', `/api/v1/agents/${name}/email`, { body: { email } });
    }
    const hook = { url: endpoint.url, actions: ['decision.proposed'] };
    const { id } = (await send(busy, 'POST', '/api/v1/webhooks', { body: hook })).body;
    await propose(busy, 'bot', { title: 'one' });
    await propose(busy, 'bot', { title: 'two' });
    expect(await metric('governance_waiting_decisions')).toBe(2);
    expect(await metric('governance_oldest_waiting_decision_seconds')).toBeGreaterThan(0);
    await until('governance_webhook_attempts_total{outcome="failed"}', (count) => count >= 1);
    expect(await metric('governance_webhook_lag_entries')).toBe(2);
    await until('governance_mails_total{outcome="sent"}', (count) => count === 1);
    await until('governance_mails_total{outcome="failed"}', (count) => count === 1);
    endpoint.answering = (response) => response.writeHead(410).end();
    expect((await send(busy, 'POST', `/api/v1/webhooks/${id}/resume`, { body: {} })).status).toBe(200);
    await until('governance_failing_webhooks', (count) => count === 1);
    endpoint.answering = (response) => response.writeHead(204).end();
    expect((await send(busy, 'POST', `/api/v1/webhooks/${id}/resume`, { body: {} })).status).toBe(200);
    await until('governance_webhook_attempts_total{outcome="delivered"}', (count) => count === 2);
    await until('governance_webhook_lag_entries', (count) => count === 0);
    await until('governance_failing_webhooks', (count) => count === 0);
    await busy.close();
    await endpoint.close();
    await server.close();
  });

  it('count requests by route template, so that paths do not create series', async () => {
    for (const path of ['/api/v1/entities/1', '/api/v1/entities/2', '/nowhere/1', '/nowhere/2', '/%ff'])
      expect((await send(app, 'GET', path)).status).toBeGreaterThanOrEqual(400);
    await send(app, 'GET', '/api/v1/stats');
    const text = await metrics();
    expect(valueOf(text, `${BY_ROUTE}{method="GET",route="/api/v1/entities/:id",status="404"}`)).toBe(2);
    expect(valueOf(text, `${BY_ROUTE}{method="GET",route="/api/v1/stats",status="200"}`)).toBe(1);
    expect(valueOf(text, `${BY_ROUTE}{method="GET",route="none",status="404"}`)).toBe(2);
    expect(text).not.toContain('nowhere');
  });

  it('count refused keys and rate-limited requests', async () => {
    for (let request = 0; request < 2; request += 1) await send(app, 'GET', '/api/v1/stats', { key: 'wrong' });
    for (let request = 0; request < 23; request += 1) await send(app, 'GET', '/api/v1/stats');
    const text = await metrics();
    expect(valueOf(text, 'governance_refused_keys_total')).toBe(2);
    expect(valueOf(text, 'governance_rate_limited_requests_total')).toBe(3);
  });
});

describe('The metrics on a port of their own', () => {
  let app: TestApp;
  let url: string;

  beforeAll(async () => {
    app = await createTestApp({ environment: { METRICS_PORT: '0', HOST: '127.0.0.1' } });
    url = `http://127.0.0.1:${app.application.get(MetricsServer).port}`;
  });
  afterAll(() => app.close());

  it('need no key, and nothing else is served there', async () => {
    const answer = await fetch(`${url}/metrics`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('governance_ledger_head_sequence 0');
    expect((await fetch(`${url}/api/v1/stats`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404);
  });

  it('are not on the main port', async () => {
    expect((await send(app, 'GET', '/metrics')).status).toBe(404);
  });

  it('prevent the start if the port is taken', async () => {
    const port = new URL(url).port;
    const second = createTestApp({ environment: { METRICS_PORT: port, HOST: '127.0.0.1' } });
    await expect(second).rejects.toThrow(`The metrics cannot be served on METRICS_PORT ${port}`);
  });
});
