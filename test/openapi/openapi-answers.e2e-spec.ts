import type { OpenAPIObject } from '@nestjs/swagger';
import { ShutdownGuard } from '../../src/http/server/shutdown';
import { LedgerService } from '../../src/ledger/ledger.service';
import { AnswerCheck } from './answer-check';
import {
  documentedResponse,
  type DocumentedOperation,
  exampleBodies,
  examplePath,
  operationsOf,
} from '../support/requests/api-document';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createEntity, createPolicy, issueKey, propose } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { erase } from '../support/application/erase';
import { type Answer, send, type Sent } from '../support/application/send';
import { delegateAndEnd, registerAndRemovePasskey, reviewAccess } from './people';
import { SwaggerSession } from './swagger-session';
import { exchange, wire } from '../support/application/wire';

/** An id of no record: the session does not create that many. */
const NOWHERE = '00000000000000000000000099';
/** Members that make the body of a request with an idempotency key a different one. */
const OTHER_BODIES = {
  entities_create: { name: 'Another' },
  claims_add: { value: 'another' },
  agents_create: { name: 'another' },
  agents_suspend: { reason: 'Another.' },
  agents_resume: { reason: 'Another.' },
  policies_create: { version: '99' },
  execute_action: { parameters: { another: true } },
  approvals_cancelRun: { run: 'another' },
  decisions_propose: { title: 'Another' },
  apiKeys_revoke: { reason: 'Another.' },
  stops_create: { reason: 'Another.' },
  stops_lift: { reason: 'Another.' },
  webhooks_replay: { after: 1 },
};

describe('Answers match the document', () => {
  let app: TestApp;
  let document: OpenAPIObject;
  let operations: DocumentedOperation[];
  let session: SwaggerSession;
  let check: AnswerCheck;

  beforeAll(async () => {
    app = await createTestApp({ environment: { BODY_LIMIT: '1000', PLAN_BODY_LIMIT: '1000' } });
    document = (await send(app, 'GET', '/docs/openapi.json')).body as OpenAPIObject;
    operations = operationsOf(document);
    session = new SwaggerSession((await send(app, 'GET', '/docs/start.js')).text);
    check = new AnswerCheck(document);
  });
  afterAll(() => app.close());

  /** The operation's request with the examples of the document, except for the given parts. */
  async function call(
    documented: DocumentedOperation,
    sent: Sent = {},
    path = examplePath(documented),
  ): Promise<Answer> {
    const [body] = exampleBodies(documented);
    const usual = body === undefined ? {} : { body: session.sentBody(body) };
    return send(app, documented.method, session.sent(path), { ...usual, ...sent });
  }

  /** Sends the same kind of request to each operation, and returns the faults of the answers. */
  async function faultsOfAll(
    chosen: readonly DocumentedOperation[],
    request: (documented: DocumentedOperation) => Promise<Answer>,
  ): Promise<string[]> {
    const faults: string[] = [];
    for (const documented of chosen) faults.push(...check.faults(documented, await request(documented)));
    return faults;
  }

  function having(status: number): DocumentedOperation[] {
    return operations.filter(({ operation }) => documentedResponse(document, operation, status) !== undefined);
  }

  function operation(id: string): DocumentedOperation {
    const match = operations.find((documented) => documented.id === id);
    if (match === undefined) throw new Error(`There is no operation ${id}.`);
    return match;
  }

  /** Ids of the first records, which exist to the end: the examples delete others. */
  function ofFirstRecords(documented: DocumentedOperation): string {
    return examplePath(documented).replace(/0000002\b/g, '0000001');
  }

  it('when the examples are executed in order', async () => {
    const faults: string[] = [];
    for (const documented of operations) {
      for (const body of exampleBodies(documented)) {
        const answer = await call(documented, body === undefined ? {} : { body: session.sentBody(body) });
        session.receive(app.url + documented.path, answer.status, answer.body);
        faults.push(...check.faults(documented, answer));
      }
    }
    expect(faults).toEqual([]);
  });

  it('when a parameter is unknown', async () => {
    const request = (documented: DocumentedOperation): Promise<Answer> =>
      call(documented, {}, `${examplePath(documented)}?misspelt=1`);
    expect(await faultsOfAll(having(400), request)).toEqual([]);
  });

  it('without the key', async () => {
    expect(await faultsOfAll(having(401), (documented) => call(documented, { key: null }))).toEqual([]);
  });

  it('when the key belongs to a suspended agent', async () => {
    const { id } = await createAgent(app, { name: 'suspended-bot' });
    const { secret: key } = await issueKey(app, { agentId: id });
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
    const keyed = having(401);
    expect(await faultsOfAll(keyed, (documented) => call(documented, { key }))).toEqual([]);
  });

  it('when there is no such record', async () => {
    const path = (documented: DocumentedOperation): string =>
      examplePath(documented)
        .replace(/_\d{26}/g, `_${NOWHERE}`)
        .replace(/reminder-bot|change-reviewer/, 'nobody')
        .replace(/provenance\/\d+/, 'provenance/999999');
    expect(await faultsOfAll(having(404), (documented) => call(documented, {}, path(documented)))).toEqual([]);
  });

  it('when the record has another revision', async () => {
    const request = (documented: DocumentedOperation): Promise<Answer> =>
      call(documented, { headers: { 'If-Match': '"999"' } }, ofFirstRecords(documented));
    expect(await faultsOfAll(having(412), request)).toEqual([]);
  });

  it('when the copy is current', async () => {
    const request = (documented: DocumentedOperation): Promise<Answer> =>
      call(documented, { headers: { 'If-None-Match': '*' } });
    expect(await faultsOfAll(having(304), request)).toEqual([]);
  });

  it('when the body is too large, or is not JSON', async () => {
    const large = (documented: DocumentedOperation): Promise<Answer> =>
      call(documented, { body: { name: 'x'.repeat(1000) } });
    const text = (documented: DocumentedOperation): Promise<Answer> =>
      call(documented, { body: 'text', headers: { 'Content-Type': 'text/plain' } });
    expect(await faultsOfAll(having(413), large)).toEqual([]);
    expect(await faultsOfAll(having(415), text)).toEqual([]);
  });

  it('when the body does not arrive', async () => {
    const halves = having(408).map(async (documented) => {
      const head = `${documented.method.toUpperCase()} ${session.sent(examplePath(documented))} HTTP/1.1`;
      const [answer] = await exchange(app, wire(head, ['Content-Type: application/json', 'Content-Length: 2'], '{'));
      if (answer === undefined) throw new Error('The connection ended without an answer.');
      return check.faults(documented, { ...answer, headers: new Headers([...answer.headers]) });
    });
    expect((await Promise.all(halves)).flat()).toEqual([]);
  });

  it('when the state does not allow it', async () => {
    // The first version was deactivated; only a version in force can be superseded.
    const firstVersion = examplePath(operation('policies_deactivate')).replace('deactivate', 'activate');
    expect((await call(operation('policies_activate'), {}, firstVersion)).status).toBe(200);
    const [closedAccounts] = exampleBodies(operation('policies_create')).slice(1);
    const next = { ...(session.sentBody(closedAccounts ?? {}) as object), version: '2.0' };
    expect((await call(operation('policies_create'), { body: next })).status).toBe(201);
    expect(await faultsOfAll(having(409), (documented) => call(documented))).toEqual([]);
  });

  it('when an idempotency key is used again, and for another body', async () => {
    for (const [id, members] of Object.entries(OTHER_BODIES)) {
      const documented = operation(id);
      const [example = {}] = exampleBodies(documented);
      const body = { ...(session.sentBody(example) as object), ...members };
      const headers = { 'Idempotency-Key': id };
      const path = ofFirstRecords(documented);
      expect((await call(documented, { body, headers }, path)).status).toBeLessThan(300);
      const again = await call(documented, { body, headers }, path);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      const other = await call(documented, { body: session.sentBody(example), headers }, path);
      expect(other.status).toBe(409);
      expect([...check.faults(documented, again), ...check.faults(documented, other)]).toEqual([]);
    }
  });

  it('when the rules refuse it', async () => {
    const [first, second] = [
      session.sent('agt_00000000000000000000000001'),
      session.sent('agt_00000000000000000000000002'),
    ];
    const propose = async (): Promise<string> => (await call(operation('decisions_propose'))).body.id as string;
    const review = async (verdict: string, agent: string): Promise<string[]> => {
      const path = `/api/v1/decisions/${await propose()}/${verdict}`;
      return check.faults(
        operation(`decisions_${verdict}`),
        await call(operation(`decisions_${verdict}`), { body: { approverId: agent } }, path),
      );
    };
    const execute = async (resourceId: string): Promise<string[]> => {
      const body = { action: 'send-reminder', resourceType: 'document', resourceId };
      return check.faults(operation('execute_action'), await call(operation('execute_action'), { body }));
    };
    const faults = [
      ...(await execute('contracts/1')),
      ...(await execute('invoices/closed/2019')),
      ...(await review('approve', first)),
    ];
    const answer = await call(operation('execute_action'), {
      body: { action: 'write-off', resourceType: 'document', resourceId: 'invoices/2026/0099' },
    });
    await send(app, 'POST', `/api/v1/decisions/${answer.body.decisionId}/approve`, { body: { approverId: second } });
    await call(operation('policies_create'), {
      body: {
        name: 'no-99',
        version: '1',
        effect: 'deny',
        subjects: ['*'],
        actions: ['*'],
        resources: ['invoices/2026/0099'],
        priority: 10,
      },
    });
    const resumed = await call(operation('approvals_resume'), {}, `/api/v1/executions/${answer.body.id}/resume`);
    faults.push(...check.faults(operation('approvals_resume'), resumed));
    await call(operation('policies_create'), {
      body: {
        name: 'no-reviews',
        version: '1',
        effect: 'deny',
        subjects: [`agent:${second}`],
        actions: ['decision:approve', 'decision:reject'],
        resources: ['decisions/*'],
      },
    });
    faults.push(...(await review('approve', second)), ...(await review('reject', second)));
    for (const id of [await propose(), `dec_${NOWHERE}`]) {
      const body = { decisions: [{ id, actionHash: null }], approverId: second };
      const together = await call(operation('decisions_approveTogether'), { body });
      faults.push(...check.faults(operation('decisions_approveTogether'), together));
    }
    const decision = await propose();
    await send(app, 'POST', `/api/v1/agents/${first}/suspend`);
    faults.push(...check.faults(operation('decisions_propose'), await call(operation('decisions_propose'))));
    const rejection = `/api/v1/decisions/${decision}/reject`;
    faults.push(
      ...check.faults(
        operation('decisions_reject'),
        await call(operation('decisions_reject'), { body: { approverId: first } }, rejection),
      ),
    );
    expect(faults).toEqual([]);
  });

  it('when the service is unhealthy', async () => {
    const healthy = jest.spyOn(app.application.get(LedgerService), 'isHealthy', 'get').mockReturnValue(false);
    const faults: string[] = [];
    for (const id of ['health_get', 'health_ready']) {
      const answer = await call(operation(id));
      expect(answer.status).toBe(503);
      faults.push(...check.faults(operation(id), answer));
    }
    healthy.mockRestore();
    expect(faults).toEqual([]);
  });

  it('when something unforeseen happens', async () => {
    const broken = jest.spyOn(app.application.get(ShutdownGuard), 'canActivate').mockImplementation(() => {
      throw new Error('unforeseen');
    });
    const faults = await faultsOfAll(having(500), (documented) => call(documented));
    broken.mockRestore();
    expect(faults).toEqual([]);
  });

  it('when there are too many requests', async () => {
    const limited = await createTestApp({ environment: { RATE_LIMIT: '1' } });
    // Each request uses up one bucket.
    await Promise.all([
      ...['/api/v1/health', '/', '/api/v1/stops'].map((path) => send(limited, 'GET', path)),
      send(limited, 'POST', '/api/v1/stops'),
    ]);
    const faults = await faultsOfAll(having(429), ({ method, path }) => send(limited, method, path));
    await limited.close();
    expect(faults).toEqual([]);
  });

  it('when the maximum number of policies is in force', async () => {
    const bounded = await createTestApp({ environment: { MAX_POLICIES: '1' } });
    // A team has a tenth of the bound: none.
    const [{ team: _team, ...example } = {}] = exampleBodies(operation('policies_create')) as Record<string, unknown>[];
    const create = (name: string): Promise<Answer> =>
      send(bounded, 'POST', '/api/v1/policies', { body: { ...example, name } });
    const path = `/api/v1/policies/${(await create('first')).body.id as string}`;
    await send(bounded, 'POST', `${path}/deactivate`);
    await create('second');
    const activated = await send(bounded, 'POST', `${path}/activate`);
    const { body: empty } = await send(bounded, 'POST', '/api/v1/policies/plan', { body: { policies: [] } });
    const both = { policies: [{ ...example, name: 'third' }] };
    const planned = await send(bounded, 'POST', '/api/v1/policies/plan', { body: both });
    const applied = await send(bounded, 'POST', '/api/v1/policies/apply', { body: { ...both, base: empty.base } });
    await bounded.close();
    for (const [id, answer] of Object.entries({
      policies_activate: activated,
      policySets_plan: planned,
      policySets_apply: applied,
    })) {
      expect([id, answer.status]).toEqual([id, 409]);
      expect(check.faults(operation(id), answer)).toEqual([]);
    }
  });

  it('when contents are erased', async () => {
    const erasing = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    const entity = async (other: Pick<TestApp, 'url'>): Promise<object> => {
      const { body } = await send(other, 'POST', '/api/v1/entities', { body: { type: 'person', name: 'Ann' } });
      return { subjects: [{ type: 'entity', id: body.id }], reason: 'Asked for' };
    };
    const body = await entity(erasing);
    const first = await send(erasing, 'POST', '/api/v1/erasures', { body });
    const again = await send(erasing, 'POST', '/api/v1/erasures', { body });
    const read = await send(erasing, 'GET', `/api/v1/erasures/${first.body.id as string}`);
    await erasing.close();
    const young = await call(operation('erasures_create'), { body: await entity(app) });
    expect([first.status, again.status, young.status]).toEqual([201, 200, 409]);
    for (const answer of [first, again, young]) expect(check.faults(operation('erasures_create'), answer)).toEqual([]);
    expect(check.faults(operation('erasures_get'), read)).toEqual([]);
  });

  it('when the requested record was erased, or did not exist yet', async () => {
    const erasing = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    const agent = await createAgent(erasing, { name: 'bot', capabilities: ['*'] });
    await createPolicy(erasing, { effect: 'allow', resources: ['customers/*'] });
    const claimed = { claim: 'IBAN', op: 'supports', parameter: '/iban', value: 0.9 };
    await createPolicy(erasing, { effect: 'deny', resources: ['accounts/*'], conditions: [claimed] });
    const entity = await createEntity(erasing);
    const decision = await propose(erasing, agent.id);
    await send(erasing, 'POST', `/api/v1/decisions/${decision.id}/reject`);
    const action = { action: 'look', resourceType: 'record', resourceId: 'customers/1' };
    const { body: execution } = await send(erasing, 'POST', '/api/v1/agents/bot/execute', { body: action });
    const { total: asOf } = (await send(erasing, 'GET', '/api/v1/audit')).body;
    const subjects = Object.entries({ entity, decision, execution }).map(([type, { id }]) => ({ type, id }));
    await erase(erasing, ...subjects);
    const question = { agent: agent.id, ...action, resourceId: `accounts/${entity.id}`, parameters: { iban: 'DE1' } };
    const answers = {
      entities_get: await send(erasing, 'GET', `/api/v1/entities/${entity.id}?asOf=${asOf}`),
      decisions_get: await send(erasing, 'GET', `/api/v1/decisions/${decision.id}?asOf=${asOf}`),
      approvals_get: await send(erasing, 'GET', `/api/v1/executions/${execution.id}?asOf=${asOf}`),
      evaluate_action: await send(erasing, 'POST', '/api/v1/policies/evaluate', { body: { ...question, asOf } }),
    };
    const early = { ...question, asOf: '2000-01-01' };
    const before = await send(erasing, 'POST', '/api/v1/policies/evaluate', { body: early });
    await erasing.close();
    for (const [id, answer] of Object.entries(answers)) {
      expect([id, answer.status]).toEqual([id, 410]);
      expect(check.faults(operation(id), answer)).toEqual([]);
    }
    expect(before.status).toBe(404);
    expect(check.faults(operation('evaluate_action'), before)).toEqual([]);
  });

  it('when a Slack id is taken', async () => {
    await createAgent(app, { name: 'Ann', kind: 'human' });
    await createAgent(app, { name: 'Ben', kind: 'human' });
    const body = { slackId: 'T012AB3C4/U012AB3C4' };
    const update = (name: string): Promise<Answer> => send(app, 'PATCH', `/api/v1/agents/${name}`, { body });
    const [first, second] = [await update('Ann'), await update('Ben')];
    expect([first.status, second.status]).toEqual([200, 409]);
    for (const answer of [first, second]) expect(check.faults(operation('agents_update'), answer)).toEqual([]);
  });

  it('when a reviewer has rejected the action', async () => {
    const ownApp = await createTestApp();
    await createAgent(ownApp, { name: 'bot', capabilities: ['*'] });
    await createAgent(ownApp, { name: 'Ann', kind: 'human', capabilities: [] });
    await createPolicy(ownApp, { effect: 'require_approval' });
    const execute = (): Promise<Answer> => {
      const body = { action: 'look', resourceType: 'record', resourceId: 'customers/1' };
      return send(ownApp, 'POST', '/api/v1/agents/bot/execute', { body });
    };
    const { decisionId } = (await execute()).body;
    const body = { approverId: 'Ann', comment: 'Not these.', instead: { parameters: { last: 10 } } };
    await send(ownApp, 'POST', `/api/v1/decisions/${decisionId}/reject`, { body });
    const refused = await execute();
    await ownApp.close();
    expect(refused.body.error).toMatchObject({ reason: 'approval_rejected', rejection: { comment: 'Not these.' } });
    expect(check.faults(operation('execute_action'), refused)).toEqual([]);
  });

  it('when other policies are in force than those of the plan', async () => {
    const [example = {}] = exampleBodies(operation('policySets_apply'));
    const answer = await call(operation('policySets_apply'), { body: { ...example, base: 'f'.repeat(64) } });
    expect(answer.status).toBe(412);
    expect(check.faults(operation('policySets_apply'), answer)).toEqual([]);
  });

  it('when a stop says what another says', async () => {
    const answers = [await call(operation('stops_create')), await call(operation('stops_create'))];
    expect(answers.at(-1)?.status).toBe(200);
    for (const answer of answers) expect(check.faults(operation('stops_create'), answer)).toEqual([]);
  });

  it('when there is the maximum number of webhooks', async () => {
    for (let made = 0; made < 100; made += 10)
      await Promise.all(Array.from({ length: 10 }, () => call(operation('webhooks_create'))));
    const refused = await call(operation('webhooks_create'));
    expect(refused.status).toBe(409);
    expect(check.faults(operation('webhooks_create'), refused)).toEqual([]);
  });

  it('when its URL is known', async () => {
    const environment = { PUBLIC_URL: 'https://governance.example.com', PERMIT_AUDIENCES: 'bank' };
    const ownApp = await createTestApp({ environment });
    const documents = [
      ['authzen_discovery', 'authzen-configuration'],
      ['permits_discovery', 'openid-configuration'],
      ['permits_keys', 'jwks.json'],
    ] as const;
    for (const [id, name] of documents) {
      const answer = await send(ownApp, 'GET', `/.well-known/${name}`);
      expect(answer.status).toBe(200);
      expect(check.faults(operation(id), answer)).toEqual([]);
    }
    await ownApp.close();
  });

  it('when a gateway asks', async () => {
    const ownApp = await createTestApp({ environment: { TRUST_PROXY: '127.0.0.1', MAX_PENDING_APPROVALS: '1' } });
    const { id: agentId } = await createAgent(ownApp, { name: 'bot', capabilities: ['*'] });
    const { secret: key } = await issueKey(ownApp, { agentId, scopes: ['execute'] });
    for (const effect of ['allow', 'deny', 'require_approval'])
      await createPolicy(ownApp, { effect, resources: [`https://h/${effect}/*`] });
    const answers: Answer[] = [];
    const paths = ['allow/1', 'deny/1', 'require_approval/1', 'require_approval/2'].map((path) => `https://h/${path}`);
    for (const url of [...paths, '/allow/1']) {
      const headers = { 'X-Original-Method': 'GET', 'X-Original-URL': url };
      answers.push(await send(ownApp, 'GET', '/forward-auth', { key, headers }));
    }
    await ownApp.close();
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 409, 400]);
    expect(answers.flatMap((answer) => check.faults(operation('forwardAuth_ask'), answer))).toEqual([]);
  });

  it.each([
    ['registers a passkey, and removes it', registerAndRemovePasskey],
    ['delegates, and ends that', delegateAndEnd],
    ['reviews what an agent may do', reviewAccess],
  ])('when a person %s', async (_name, act) => {
    const faults: string[] = [];
    await act((id, status, answer) => {
      expect({ id, status: answer.status }).toEqual({ id, status });
      faults.push(...check.faults(operation(id), answer));
    });
    expect(faults).toEqual([]);
  });

  it('when an execution was decided in version 1, or is erased', async () => {
    const other = await createTestApp();
    await createAgent(other, { name: 'bot' });
    const request = { action: 'fly', resourceType: 'sky', resourceId: 'x' };
    await send(other, 'POST', '/api/v1/agents/bot/execute', { body: request });
    const { data } = (await send(other, 'GET', '/api/v1/executions')).body;
    const path = `/api/v1/executions/${data[0].id as string}/evidence`;
    const foreign = await foreignConnection(other);
    const answers = [];
    for (const change of ['"v" = 1', `"erased" = 99, "details" = 'null'`]) {
      await foreign.all(`UPDATE "ledger_entries" SET ${change}`);
      answers.push(await send(other, 'GET', path));
    }
    await foreign.close();
    await other.close();
    expect(answers.map(({ status }) => status)).toEqual([409, 410]);
    for (const answer of answers) expect(check.faults(operation('decisionFiles_get'), answer)).toEqual([]);
  });

  it('when the service is stopping', async () => {
    const stopping = jest.spyOn(app.application.get(ShutdownGuard), 'isClosed', 'get').mockReturnValue(true);
    const faults = await faultsOfAll(having(503), (documented) => call(documented));
    stopping.mockRestore();
    expect(faults).toEqual([]);
  });

  it('and every documented answer of every operation was seen', () => {
    // Answers about changes that wait for a second person are checked in changes/held-routes and evidence/change-files.
    const conflicts = /^(?:agents_(?:set|remove)Email|apiKeys_issue|webhooks_(?:update|remove|rotateSecret)) 409/;
    const ofChanges = (answer: string): boolean =>
      answer.startsWith('decisions_change ') ||
      /^decisionFiles_getOfChange (?:200|410)/u.test(answer) ||
      conflicts.test(answer) ||
      (answer.endsWith(' 202') && !answer.startsWith('execute_action'));
    const unseen = operations.flatMap((documented) => check.unseen(documented));
    expect(unseen.filter((answer) => !ofChanges(answer))).toEqual([]);
  });
});
